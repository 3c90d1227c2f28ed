#pragma once
// Products of few rows with a stored weight, as in decoding: reading the weight is most of the work, so its rows are
// read where they are. What is small, the few rows, is laid out for the loop beforehand, once for all threads.
// c [m, n], rows `stride` apart, = a [m, k] b^T with b [n, k]; m at most few_rows_max; on the calling thread; sums are
// of fp32, rounded once; an element does not depend on m and n. No torch (see table.hpp).

#include <cstdint>

#include "kernels/cpu/loops/table.hpp"

namespace d9d::kernels {

constexpr int64_t few_rows_max = 16;

// Needs Isa::avx512, as the next ones.
void few_rows_avx512(int64_t m, int64_t n, int64_t k, const Rows<const float>& a, const Rows<const float>& b,
                     float* c, int64_t stride);

// Rows of a as fp32 [m, spread_size(k)]: of each 32 elements first the even ones, then the odd ones, which is how a
// bf16 weight comes out of its pairs; up to a multiple of 32 with zeros.
constexpr int64_t spread_size(int64_t k) {
  return (k + 31) / 32 * 32;
}
void spread_rows_avx512(int64_t m, int64_t k, const Rows<const Bf16>& a, float* to);
// C: float or Bf16.
template <class C>
void few_rows_avx512(int64_t m, int64_t n, int64_t k, const float* spread, const Rows<const Bf16>& b, C* c,
                     int64_t stride);

// Rows of a as [k / 2][16] pairs of elements, zero from row m on. `k` is a multiple of tile_k. Needs Isa::amx.
constexpr int64_t tile_k = 32;
void pair_rows_amx(int64_t m, int64_t k, const Rows<const Bf16>& a, float* to);
template <class C>
void few_rows_amx(int64_t m, int64_t n, int64_t k, const float* pairs, const Rows<const Bf16>& b, C* c,
                  int64_t stride);

}  // namespace d9d::kernels
