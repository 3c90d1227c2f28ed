#pragma once
// Where the values of parameters that do not train lie.

#include <vector>

#include "runtime/tensor/stage_module.hpp"

namespace d9d {

// Moves those without requires_grad and without a unit into one buffer for each element type and device, in
// their order: linears of one input are adjacent, and a weight does not fill up its last huge page. Tensors
// keep their identity; their values only on request.
void join_frozen(const std::vector<StageParameter>& parameters, bool keep_values);

}  // namespace d9d
