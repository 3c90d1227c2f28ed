#pragma once
// Tensors seen as matrices of rows. Internal to kernels/; the same for all devices.

#include <ATen/core/Tensor.h>

namespace d9d::kernels {

// The dtype of statistics and sums over values of `dtype`.
inline at::ScalarType sum_dtype(at::ScalarType dtype) {
  return dtype == at::kDouble ? at::kDouble : at::kFloat;
}

// True if the elements of a row of the matrix are neighbours in memory.
inline bool has_dense_rows(const at::Tensor& matrix) {
  return matrix.stride(1) == 1 || matrix.size(1) == 1;
}

// x [.., W] as a matrix [rows, W] with dense rows; copied only if its rows are not evenly spaced.
inline at::Tensor as_rows(const at::Tensor& x) {
  TORCH_CHECK(x.dim() >= 1, "expected a tensor of at least one dimension");
  const at::Tensor rows = x.reshape({-1, x.size(-1)});
  return has_dense_rows(rows) ? rows : rows.contiguous();
}

}  // namespace d9d::kernels
