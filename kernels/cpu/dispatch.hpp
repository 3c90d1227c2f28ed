#pragma once
// Leads from CPU tensors to the pointer loops of kernels/cpu/loops.

#include <ATen/Parallel.h>
#include <ATen/core/Tensor.h>

#include <algorithm>

#include "kernels/cpu/loops/table.hpp"
#include "kernels/rows.hpp"

namespace d9d::kernels::cpu {

// Calls f(T{}) with the T of the dtype: float, double or Bf16.
template <class F>
decltype(auto) dispatch(at::ScalarType dtype, F&& f) {
  if (dtype == at::kFloat) return f(float{});
  if (dtype == at::kBFloat16) return f(Bf16{});
  TORCH_CHECK(dtype == at::kDouble, "dtype ", dtype,
              " is not supported; expected float32, bfloat16 or float64");
  return f(double{});
}

// Returns the data of a tensor, or null if it is undefined.
template <class T>
T* data_of(const at::Tensor& tensor) {
  return tensor.defined() ? static_cast<T*>(tensor.data_ptr()) : nullptr;
}

// Returns the rows of a matrix [rows, width] with dense rows (as_rows). Null data
// for an undefined tensor.
template <class T>
Rows<const T> rows_of(const at::Tensor& matrix, int64_t begin = 0) {
  if (!matrix.defined()) return {nullptr, 0};
  const int64_t stride = matrix.stride(0);
  return {static_cast<const T*>(matrix.const_data_ptr()) + begin * stride, stride};
}
template <class T>
Rows<T> mutable_rows_of(const at::Tensor& matrix, int64_t begin = 0) {
  return {static_cast<T*>(matrix.data_ptr()) + begin * matrix.stride(0), matrix.stride(0)};
}

// Calls f(begin, end) for ranges of `rows` rows, in parallel. A thread gets at least
// some 16 thousand elements.
template <class F>
void for_rows(int64_t rows, int64_t width, F&& f) {
  if (rows == 0) return;
  at::parallel_for(0, rows, std::max<int64_t>(1, 16384 / std::max<int64_t>(1, width)), f);
}

}  // namespace d9d::kernels::cpu
