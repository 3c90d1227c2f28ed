#pragma once
// Matrix products written straight into their destination. Internal to kernels/.

#include <ATen/core/Tensor.h>

#include "kernels/cpu/gemm.hpp"

namespace d9d::kernels {

// c = a b + beta c with beta 0 or 1.   c [M, N], a [M, K], b [K, N]; a and b may be transposed views or have
// strided rows, c's rows may be strided. fp32 and bf16 may be mixed, fp64 not. Sums are fp32 (fp64 for fp64).
// M, N or K may be 0.
void matmul(const at::Tensor& c, const at::Tensor& a, const at::Tensor& b, double beta = 0);

// The same on memory, with gathered and scattered rows; m, n, k >= 0; at::get_num_threads() threads. The
// result does not depend on the number of threads.
void gemm(int64_t m, int64_t n, int64_t k, const GemmInput& a, const GemmInput& b, const GemmOutput& c);

// What gemm does where there is no AVX-512: copies what MKL cannot read, then at::mm.
void gemm_portable(int64_t m, int64_t n, int64_t k, const GemmInput& a, const GemmInput& b,
                   const GemmOutput& c);

// A 2-D fp32 or bf16 tensor as an operand; `rows`, if given, are indices int64 into its rows.
GemmInput gemm_input(const at::Tensor& matrix, const int64_t* rows = nullptr);
inline GemmInput transposed(GemmInput input) {
  input.transposed = !input.transposed;
  return input;
}

// The matrix [rows, last dim] of x without a copy where its rows are evenly spaced.
at::Tensor as_rows(const at::Tensor& x);

}  // namespace d9d::kernels
