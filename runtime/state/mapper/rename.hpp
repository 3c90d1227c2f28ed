#pragma once
// Mappers that change names and leave tensors as they are.

#include <string>
#include <vector>

#include "runtime/state/mapper/mapper.hpp"

namespace d9d {

MapperPtr identity(const std::string& name);
MapperPtr rename(const std::string& from, const std::string& to);
// The same tensor under each of these names.
MapperPtr copies(const std::string& from, const std::vector<std::string>& to);
// For each base name: `parent.name` becomes `name`.
MapperPtr select_child_modules(const std::vector<std::string>& base_names, const std::string& parent);

}  // namespace d9d
