#pragma once
// How often each expert was chosen. Implemented beside the order of choices, whose offsets say it.

#include <ATen/core/Tensor.h>

namespace d9d::kernels {

// experts [T, k], all in [0, num_experts) -> int64 [num_experts], on their device. The host does not wait.
at::Tensor choice_counts(const at::Tensor& experts, int64_t num_experts);
// The same from the offsets of rows in expert order (moe.hpp), int64 [E + 1] -> int64 [E].
at::Tensor counts_of_offsets(const at::Tensor& offsets);

}  // namespace d9d::kernels
