#pragma once
// The memory of parameters that do not train.

#include <cstdint>
#include <vector>

#include "runtime/tensor/stage_module.hpp"

namespace d9d {

// Moves parameters without requires_grad and without a unit into one buffer per dtype and device, in their
// order. So linears with the same input are adjacent, and no weight leaves a part of a huge page unused. The
// tensors stay the same objects. Keeps their values only if `keep_values`.
void join_frozen(const std::vector<StageParameter>& parameters, bool keep_values);
// The elements between and after them there, which no parameter has.
std::int64_t gaps_of_frozen(const std::vector<StageParameter>& parameters);

}  // namespace d9d
