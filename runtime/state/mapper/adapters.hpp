#pragma once
// Makes identity mappers for names that exist elsewhere.

#include "runtime/state/mapper/mapper.hpp"

namespace d9d {

MapperPtr identities(const Names& names);
// One identity for each name of a state: a module's parameters, a TensorMap.
MapperPtr identities_of(const TensorMap& state);
MapperPtr identities_of_outputs(const StateMapper& mapper);

}  // namespace d9d
