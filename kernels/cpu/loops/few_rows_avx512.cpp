// Sixteen sums in registers: two rows of b by up to eight of a.
#include "kernels/cpu/loops/few_rows.hpp"
#include "kernels/cpu/loops/vector_avx512.hpp"

namespace d9d::kernels {
namespace {

constexpr int64_t rows_at_once = 8;

// M rows of a with a row of b, and with the one behind it where `pair`.
template <int M>
void multiply_rows(int64_t k, bool pair, const FloatRows& a, const FloatRows& b, float* c, int64_t stride) {
  const float* const one = b.data;
  const float* const other = pair ? one + b.stride : one;
  __m512 sums[M], others[M];
#pragma GCC unroll 8
  for (int i = 0; i < M; ++i) sums[i] = others[i] = _mm512_setzero_ps();
  for (int64_t at = 0; at < k; at += 16) {
    // The next rows: hardware follows a row no further than its page.
    _mm_prefetch(reinterpret_cast<const char*>(one + 2 * b.stride + at), _MM_HINT_T0);
    _mm_prefetch(reinterpret_cast<const char*>(other + 2 * b.stride + at), _MM_HINT_T0);
    const __mmask16 mask = first_lanes(k - at);
    const __m512 left = load(one + at, mask), right = load(other + at, mask);
#pragma GCC unroll 8
    for (int i = 0; i < M; ++i) {
      const __m512 x = load(a.data + i * a.stride + at, mask);
      sums[i] = _mm512_fmadd_ps(x, left, sums[i]);
      others[i] = _mm512_fmadd_ps(x, right, others[i]);
    }
  }
#pragma GCC unroll 8
  for (int i = 0; i < M; ++i) {
    c[i * stride] = _mm512_reduce_add_ps(sums[i]);
    if (pair) c[i * stride + 1] = _mm512_reduce_add_ps(others[i]);
  }
}

constexpr decltype(&multiply_rows<1>) by_count[] = {multiply_rows<1>, multiply_rows<2>, multiply_rows<3>,
                                                    multiply_rows<4>, multiply_rows<5>, multiply_rows<6>,
                                                    multiply_rows<7>, multiply_rows<8>};

}  // namespace

void few_rows_avx512(int64_t m, int64_t n, int64_t k, const FloatRows& a, const FloatRows& b, float* c,
                     int64_t stride) {
  for (int64_t j = 0; j < n; j += 2) {
    for (int64_t first = 0; first < m; first += rows_at_once) {
      const int64_t count = m - first < rows_at_once ? m - first : rows_at_once;
      by_count[count - 1](k, j + 1 < n, {a.data + first * a.stride, a.stride},
                          {b.data + j * b.stride, b.stride}, c + first * stride + j, stride);
    }
  }
}

}  // namespace d9d::kernels
