#pragma once
// The shared libraries that a job names in `plugins`.

#include <string>

namespace d9d {

class Registry;

// Loads a shared library built against the package d9d; it defines
//   extern "C" void d9d_register(d9d::Registry& registry);
// The library stays loaded for the life of the process. Input
// error: no such file, no such function, another version.
void load_plugin(const std::string& path, Registry& registry);

}  // namespace d9d
