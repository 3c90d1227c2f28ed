#pragma once
// Rows of different lengths as one tensor, for collations that fill up (DATA-06).

#include <ATen/core/Scalar.h>
#include <ATen/core/Tensor.h>

#include <cstdint>
#include <span>
#include <vector>

#include "runtime/data/sample_source.hpp"

namespace d9d {

enum class PadSide { left, right };

struct Padding {
  at::Scalar value = 0;
  PadSide side = PadSide::right;
  std::int64_t multiple_of = 1;  // the length is rounded up to a multiple of this number
};

// Stacks tensors [S_i] of one dtype into [B, S]; S is the largest length, rounded up. Input errors: no
// row, a row of other dimensions or another dtype, a multiple_of below 1.
at::Tensor pad_stack(std::span<const at::Tensor> rows, const Padding& padding = {});
// The same of a member of samples, as int64: pad_stack(samples, &Sample::labels, {.value = ignored_label}).
at::Tensor pad_stack(std::span<const Sample> samples, std::vector<std::int64_t> Sample::*row,
                     const Padding& padding = {});
// The token_mask of these samples' input_ids, bool [B, S]: false for padding, new and old.
at::Tensor pad_token_mask(std::span<const Sample> samples, const Padding& padding = {});

}  // namespace d9d
