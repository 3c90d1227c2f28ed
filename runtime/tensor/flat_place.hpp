#pragma once
// Where parameters begin in a flat buffer of many.

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace d9d {

// Kernels of GPUs read 16 bytes at once where memory begins at a multiple of 16, else element by element. These are 16
// bytes of a 16-bit type. Buffers of values and of gradients have one layout, so the narrower type decides.
inline constexpr std::int64_t pack_elements = 8;

// Whether kernels may read two weights as one matrix if no gap is between them (linear_multi in kernels/linear.hpp).
inline bool may_be_one_matrix(const at::Tensor& first, const at::Tensor& second) {
  return first.dim() == 2 && second.dim() == 2 && first.size(1) == second.size(1);
}

// The least multiple of `step` that is not below `count`.
inline std::int64_t rounded_up(std::int64_t count, std::int64_t step) {
  return (count + step - 1) / step * step;
}

// The element at which `next` begins in a buffer where `previous` ends at element `end`: the next multiple of
// pack_elements, or `end` if both may be one matrix. Its rows then are multiples of the pack, or no row is aligned.
inline std::int64_t begin_behind(const at::Tensor& previous, std::int64_t end, const at::Tensor& next) {
  if (may_be_one_matrix(previous, next)) return end;
  return rounded_up(end, pack_elements);
}

}  // namespace d9d
