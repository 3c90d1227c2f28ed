#pragma once
// Products of few rows with a stored weight, as in decoding: reading the weight is nearly all of the work, so its
// rows are read once, where they are, and nothing is packed. No torch (see table.hpp).

#include "kernels/cpu/loops/gemm_avx512.hpp"

namespace d9d::kernels {

constexpr int64_t few_rows_max = 16;

// c [m, n] = a [m, k] b^T with b [n, k], both stored by rows (`transposed` and `rows` are not read), m at most
// few_rows_max, fp32 or bf16 each; on the calling thread. Sums are fp32 and rounded once. An element does not
// depend on m and n. Needs Isa::avx512.
void few_rows_avx512(int64_t m, int64_t n, int64_t k, const GemmInput& a, const GemmInput& b,
                     const GemmOutput& c);
// The same of two bf16 operands by the instruction that adds products of pairs; needs Isa::avx512_bf16.
void few_rows_bf16(int64_t m, int64_t n, int64_t k, const GemmInput& a, const GemmInput& b,
                   const GemmOutput& c);

}  // namespace d9d::kernels
