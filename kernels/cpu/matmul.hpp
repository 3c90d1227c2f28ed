#pragma once
// Matrix products on the CPU, over tensors and over pointers.

#include <ATen/core/Tensor.h>

#include "kernels/cpu/loops/gemm_avx512.hpp"

namespace d9d::kernels::cpu {

// The op `matmul` (kernels/ops/dense_ops.hpp).
void matmul(const at::Tensor& c, const at::Tensor& a, const at::Tensor& b, double beta);

// The same over pointers, with gathered and scattered rows. m, n, k >= 0. Uses at::get_num_threads()
// threads; the result does not depend on their number.
void gemm(int64_t m, int64_t n, int64_t k, const GemmInput& a, const GemmInput& b, const GemmOutput& c);

// The gemm of machines without AVX-512: copies operands that MKL cannot read, then calls at::mm.
void gemm_portable(int64_t m, int64_t n, int64_t k, const GemmInput& a, const GemmInput& b,
                   const GemmOutput& c);

// Returns a 2-D fp32 or bf16 tensor as an operand. `rows`, if given, are the int64 indices of
// the rows to gather.
GemmInput gemm_input(const at::Tensor& matrix, const int64_t* rows = nullptr);
inline GemmInput transposed(GemmInput input) {
  input.transposed = !input.transposed;
  return input;
}

}  // namespace d9d::kernels::cpu
