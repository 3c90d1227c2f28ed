#pragma once
// Identities over what something else already names.

#include <map>
#include <string>

#include "runtime/state/mapper/mapper.hpp"

namespace d9d {

MapperPtr identities(const Names& names);
// Every name of a state: a module's parameters, a TensorMap.
MapperPtr identities_of(const TensorMap& state);
MapperPtr identities_of_outputs(const StateMapper& mapper);

}  // namespace d9d
