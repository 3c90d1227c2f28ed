// Sixteen sums in registers: two rows of b by up to eight of a.
#include "kernels/cpu/loops/few_rows.hpp"
#include "kernels/cpu/loops/vector_avx512.hpp"

namespace d9d::kernels {
namespace {

constexpr int64_t rows_at_once = 8;

// What one step reads of a row of b, and which of a's elements belong to it. `step` elements of k.
struct FloatSteps {
  using Weight = float;
  static constexpr int64_t step = 16;
  static constexpr int parts = 1;
  static void read(const float* from, int64_t left, __m512 (&to)[parts]) {
    to[0] = load(from, first_lanes(left));
  }
  static __m512 of_a(const float* a, int, int64_t left) { return load(a, first_lanes(left)); }
};

// A bf16 is the upper half of an fp32: the odd elements of pairs stand there already, the even ones are shifted.
struct PairSteps {
  using Weight = Bf16;
  static constexpr int64_t step = 32;
  static constexpr int parts = 2;
  static void read(const Bf16* from, int64_t left, __m512 (&to)[parts]) {
    const __mmask32 mask = left >= 32 ? 0xffffffffU : (1U << left) - 1;
    const __m512i pairs = _mm512_maskz_loadu_epi16(mask, from);
    to[0] = _mm512_castsi512_ps(_mm512_slli_epi32(pairs, 16));
    to[1] = _mm512_castsi512_ps(_mm512_and_si512(pairs, _mm512_set1_epi32(static_cast<int>(0xffff0000U))));
  }
  static __m512 of_a(const float* a, int part, int64_t) { return _mm512_loadu_ps(a + 16 * part); }
};

void put(float* to, float value) {
  *to = value;
}
void put(Bf16* to, float value) {
  store(to, 1, _mm512_set1_ps(value));
}

// M rows of a with a row of b, and with the one after it where `pair`.
template <class Steps, int M, class C>
void multiply_rows(int64_t k, bool pair, const Rows<const float>& a,
                   const Rows<const typename Steps::Weight>& b, C* c, int64_t stride) {
  const auto* const one = b.data;
  const auto* const other = pair ? one + b.stride : one;
  __m512 sums[M], others[M];
#pragma GCC unroll 8
  for (int i = 0; i < M; ++i) sums[i] = others[i] = _mm512_setzero_ps();
  for (int64_t at = 0; at < k; at += Steps::step) {
    // The next rows: hardware follows a row no further than its page.
    _mm_prefetch(reinterpret_cast<const char*>(one + 2 * b.stride + at), _MM_HINT_T0);
    _mm_prefetch(reinterpret_cast<const char*>(other + 2 * b.stride + at), _MM_HINT_T0);
    __m512 left[Steps::parts], right[Steps::parts];
    Steps::read(one + at, k - at, left);
    Steps::read(other + at, k - at, right);
#pragma GCC unroll 2
    for (int part = 0; part < Steps::parts; ++part) {
#pragma GCC unroll 8
      for (int i = 0; i < M; ++i) {
        const __m512 x = Steps::of_a(a.data + i * a.stride + at, part, k - at);
        sums[i] = _mm512_fmadd_ps(x, left[part], sums[i]);
        others[i] = _mm512_fmadd_ps(x, right[part], others[i]);
      }
    }
  }
#pragma GCC unroll 8
  for (int i = 0; i < M; ++i) {
    put(c + i * stride, _mm512_reduce_add_ps(sums[i]));
    if (pair) put(c + i * stride + 1, _mm512_reduce_add_ps(others[i]));
  }
}

template <class Steps, class C>
void multiply(int64_t m, int64_t n, int64_t k, const Rows<const float>& a,
              const Rows<const typename Steps::Weight>& b, C* c, int64_t stride) {
  static constexpr decltype(&multiply_rows<Steps, 1, C>) by_count[] = {
      multiply_rows<Steps, 1, C>, multiply_rows<Steps, 2, C>, multiply_rows<Steps, 3, C>,
      multiply_rows<Steps, 4, C>, multiply_rows<Steps, 5, C>, multiply_rows<Steps, 6, C>,
      multiply_rows<Steps, 7, C>, multiply_rows<Steps, 8, C>};
  for (int64_t j = 0; j < n; j += 2) {
    for (int64_t first = 0; first < m; first += rows_at_once) {
      const int64_t count = m - first < rows_at_once ? m - first : rows_at_once;
      by_count[count - 1](k, j + 1 < n, {a.data + first * a.stride, a.stride},
                          {b.data + j * b.stride, b.stride}, c + first * stride + j, stride);
    }
  }
}

}  // namespace

void few_rows_avx512(int64_t m, int64_t n, int64_t k, const Rows<const float>& a, const Rows<const float>& b,
                     float* c, int64_t stride) {
  multiply<FloatSteps>(m, n, k, a, b, c, stride);
}

void spread_rows_avx512(int64_t m, int64_t k, const Rows<const Bf16>& a, float* to) {
  for (int64_t i = 0; i < m; ++i) {
    for (int64_t at = 0; at < k; at += PairSteps::step, to += PairSteps::step) {
      __m512 parts[PairSteps::parts];
      PairSteps::read(a.data + i * a.stride + at, k - at, parts);
      _mm512_storeu_ps(to, parts[0]);
      _mm512_storeu_ps(to + 16, parts[1]);
    }
  }
}

template <class C>
void few_rows_avx512(int64_t m, int64_t n, int64_t k, const float* a, const Rows<const Bf16>& b, C* c,
                     int64_t stride) {
  multiply<PairSteps>(m, n, k, {a, spread_size(k)}, b, c, stride);
}
template void few_rows_avx512(int64_t, int64_t, int64_t, const float*, const Rows<const Bf16>&, float*,
                              int64_t);
template void few_rows_avx512(int64_t, int64_t, int64_t, const float*, const Rows<const Bf16>&, Bf16*,
                              int64_t);

}  // namespace d9d::kernels
