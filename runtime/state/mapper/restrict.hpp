#pragma once
// A part of a mapper, so that one mapper of the whole model serves every pipeline stage.

#include "runtime/state/mapper/mapper.hpp"

namespace d9d {

// The groups that make at least one of these names, without their other outputs. Names
// that no group makes are left out: the caller compares (load_model_state does).
MapperPtr restrict_to_outputs(MapperPtr mapper, const Names& names);

// The groups whose inputs are all among these names. An
// input error for a group that has only a part of them here.
MapperPtr restrict_to_inputs(MapperPtr mapper, const Names& names);

}  // namespace d9d
