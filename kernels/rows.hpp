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

// Whether heads [B, S, H, D] are dense, and the tokens of all sequences evenly spaced.
inline bool has_dense_heads(const at::Tensor& heads) {
  return heads.stride(3) == 1 && (heads.size(2) == 1 || heads.stride(2) == heads.size(3)) &&
         (heads.size(0) == 1 || heads.stride(0) == heads.size(1) * heads.stride(1));
}

// The matrix whose columns `parts` are, side by side in memory and in order; undefined where they are not, or where one
// is undefined. A projection of several weights has the gradients of its input and of its weights by one product each
// where the gradients of its results are such (linear.cpp).
inline at::Tensor joined_columns(at::TensorList parts) {
  int64_t width = 0;
  for (const auto& part : parts) {
    if (!part.defined()) return {};
    width += part.size(1);
  }
  const auto& first = parts[0];
  int64_t column = first.storage_offset();
  for (const auto& part : parts) {
    if (!part.storage().is_alias_of(first.storage()) || part.scalar_type() != first.scalar_type() ||
        part.storage_offset() != column || part.stride(0) != width || part.stride(1) != 1 ||
        part.size(0) != first.size(0)) {
      return {};
    }
    column += part.size(1);
  }
  return first.as_strided({first.size(0), width}, {width, 1}, first.storage_offset());
}

}  // namespace d9d::kernels
