#pragma once
// Matrix products on the CPU, over tensors and over memory.

#include <ATen/core/Tensor.h>

#include "kernels/cpu/loops/gemm_avx512.hpp"

namespace d9d::kernels::cpu {

// The op `matmul` (kernels/ops/dense_ops.hpp).
void matmul(const at::Tensor& c, const at::Tensor& a, const at::Tensor& b, double beta);

// The same on memory, with gathered and scattered rows; m, n, k >= 0; at::get_num_threads() threads. The
// result does not depend on the number of threads.
void gemm(int64_t m, int64_t n, int64_t k, const GemmInput& a, const GemmInput& b, const GemmOutput& c);

// What gemm does where there is no AVX-512: copies what MKL cannot read, then at::mm.
void gemm_portable(int64_t m, int64_t n, int64_t k, const GemmInput& a, const GemmInput& b,
                   const GemmOutput& c);

// A 2-D fp32 or bf16 tensor as an operand; `rows`, if given, are int64 indices of its rows.
GemmInput gemm_input(const at::Tensor& matrix, const int64_t* rows = nullptr);
inline GemmInput transposed(GemmInput input) {
  input.transposed = !input.transposed;
  return input;
}

}  // namespace d9d::kernels::cpu
