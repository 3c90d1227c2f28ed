#pragma once
// Matrix products written straight into their destination. Internal to kernels/.

#include <ATen/core/Tensor.h>

namespace d9d::kernels {

// c = a b + beta c with beta 0 or 1. c [M, N], a [M, K], b [K, N]. a and b may be transposed views or
// have strided rows; the rows of c may be strided. fp32 and bf16 may be mixed, fp64 not. Sums are fp32
// (fp64 for fp64). M, N or K may be 0.
void matmul(const at::Tensor& c, const at::Tensor& a, const at::Tensor& b, double beta = 0);

}  // namespace d9d::kernels
