#pragma once
// Matrix products on tensors, written straight into their destination. Internal to kernels/.

#include <ATen/core/Tensor.h>

namespace d9d::kernels {

// c = a b + beta c.   c [M, N], a [M, K], b [K, N]; a and b may be transposed views or have strided rows, c's
// rows may be strided. a and b share a dtype; c has it too, or is fp32. Sums are fp32 (fp64 for fp64). M, N
// or K may be 0.
void matmul(const at::Tensor& c, const at::Tensor& a, const at::Tensor& b, double beta = 0);

// The matrix [rows, last dim] of x without a copy where its rows are evenly spaced.
at::Tensor as_rows(const at::Tensor& x);

}  // namespace d9d::kernels
