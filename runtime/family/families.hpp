#pragma once
// The families of models: those of d9d, and those that plugins have added.

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/family/family.hpp"

namespace d9d {

// In the order of the reference of all keys, those of plugins last. They live as long as the process.
const std::vector<const Family*>& families();
// Null for a name that no family has.
const Family* find_family(std::string_view name);

// Adds a family of a plugin, for the life of the process. Call it before the job file is decoded, on the main thread:
// nothing else reads the families meanwhile. `origin` says who brings it. Input error for a name that is taken or that
// is no word of letters, digits, '_', '-' and '.'.
void add_family(std::unique_ptr<const Family> family, const std::string& origin);
// Whether a plugin has added it.
bool is_own(const Family& family);
// True at the first call with this function of a plugin, by which libraries are told apart.
bool is_first_call(const void* function);

}  // namespace d9d
