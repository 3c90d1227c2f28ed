#pragma once
// Restricts a mapper to a part, so that one mapper of the whole model serves every pipeline stage.

#include "runtime/state/mapper/mapper.hpp"

namespace d9d {

// Keeps the groups that make at least one of these names, without their other outputs. Names that
// no group makes are ignored; the caller compares (load_model_state() does).
MapperPtr restrict_to_outputs(MapperPtr mapper, const Names& names);

// Keeps the groups whose inputs are all among these names. Input error: only a part of
// a group's inputs is.
MapperPtr restrict_to_inputs(MapperPtr mapper, const Names& names);

}  // namespace d9d
