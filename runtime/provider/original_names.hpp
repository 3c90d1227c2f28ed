#pragma once
// From the parameters of the original's models to those of the same families here.

#include "runtime/state/mapper/mapper.hpp"

namespace d9d {

// Names that are the same here, or are not the original's, stay as they are. Experts are transposed: the original
// keeps them as [experts, in, out].
MapperPtr from_original_names(const Names& names);

}  // namespace d9d
