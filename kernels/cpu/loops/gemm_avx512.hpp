#pragma once
// Matrix product on AVX-512, fp32 sums, operands fp32 or bf16. No torch (see table.hpp).
// It exists because the MKL in the torch wheel takes its AVX2 path on AMD, half of what the machine can do, and
// because no BLAS can gather rows while it packs, scatter while it stores, or read bf16.

#include <cstdint>

namespace d9d::kernels {

// Stored rows, `stride` elements apart, used as they are or transposed.
// With `rows`, row r is stored in row rows[r].
struct GemmInput {
  const void* data;
  int64_t stride;
  bool transposed = false;
  bool bf16 = false;
  const int64_t* rows = nullptr;
};

// Row i of the result is stored in row i, or in rows[i] (all different), times row_scale[i] if given.
struct GemmOutput {
  void* data;
  int64_t stride;
  bool add = false;  // to what is there, instead of overwriting it
  bool bf16 = false;
  const int64_t* rows = nullptr;
  const float* row_scale = nullptr;
};

// Of k in one panel: elements, or pairs of bf16. A sum over k is computed in such chunks, in order.
constexpr int64_t panel_words = 512;

// c [m, n] (+)= a [m, k] b [k, n] on the calling thread. m, n, k >= 1. Needs Isa::avx512. Sums are fp32 and
// rounded once. The order of an element's sum does not depend on m and n: a product computed in parts has the
// same bits as the whole.
void gemm_avx512(int64_t m, int64_t n, int64_t k, const GemmInput& a, const GemmInput& b,
                 const GemmOutput& c);
// The same of two bf16 operands, in half the time; needs Isa::avx512_bf16.
void gemm_bf16(int64_t m, int64_t n, int64_t k, const GemmInput& a, const GemmInput& b, const GemmOutput& c);
// The same by tile registers, several times as fast; needs Isa::amx.
void gemm_amx(int64_t m, int64_t n, int64_t k, const GemmInput& a, const GemmInput& b, const GemmOutput& c);

}  // namespace d9d::kernels
