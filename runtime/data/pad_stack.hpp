#pragma once
// Rows of different length as one tensor (DATA-06), for providers that collate their own batches.

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>
#include <span>

namespace d9d {

enum class PadSide { left, right };

// [N, L] of N tensors [length], L the longest or the next multiple of `pad_to_multiple_of`. dtype and device
// are the first's. No tensors, one that is not 1-D, or a multiple below 1 is an input error.
at::Tensor pad_stack_1d(std::span<const at::Tensor> rows, const at::Scalar& pad_value,
                        PadSide side = PadSide::right,
                        std::optional<std::int64_t> pad_to_multiple_of = std::nullopt);

}  // namespace d9d
