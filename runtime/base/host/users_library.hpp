#pragma once
// The libraries with users' code: those that a job names, and the running program itself where it is a user's.

#include <string>

namespace d9d {

// What `plugins` says for the running program (actors/cli/own_program.hpp).
inline constexpr const char* this_program = "/proc/self/exe";

// As dlopen() of the library, or of what the program itself shows. Null: dlerror() says why. It is never closed,
// because what it made may live on; opening again gives the same.
void* open_users_library(const std::string& path);

// A function of a plugin by its C name; null when it has none. Input error when the library cannot be loaded.
void* plugin_function(const std::string& path, const char* name);
// Input error unless the plugin was built against the headers of this d9d: types of others lie otherwise in memory, and
// nothing else would notice. Call it before any other function of the plugin.
void require_same_headers(const std::string& path);

}  // namespace d9d
