#pragma once
// The built-in families of models.

#include <string_view>
#include <vector>

#include "runtime/family/family.hpp"

namespace d9d {

// In the order of the reference of all keys. They live as long as the process.
const std::vector<const Family*>& families();
// Null for a name that no family has.
const Family* find_family(std::string_view name);

}  // namespace d9d
