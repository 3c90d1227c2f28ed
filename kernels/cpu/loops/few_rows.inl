// Sixteen sums in registers: two rows of b by up to eight of a. `Vectors` says how a vector is loaded and what a
// product of two adds.

#include "kernels/cpu/loops/few_rows.hpp"
#include "kernels/cpu/loops/vector_avx512.hpp"

namespace d9d::kernels {
namespace {

constexpr int64_t rows_at_once = 8;

inline void put(const GemmOutput& c, int64_t row, int64_t column, float value) {
  if (c.bf16) {
    store(static_cast<Bf16*>(c.data) + row * c.stride + column, 1, _mm512_set1_ps(value));
  } else {
    static_cast<float*>(c.data)[row * c.stride + column] = value;
  }
}

// Rows first .. first + M of a with rows j and j + 1 of b, or with row j alone.
template <class Vectors>
struct FewRows {
  using A = typename Vectors::A;
  using B = typename Vectors::B;
  template <int M>
  static void run(int64_t first, int64_t j, bool pair, int64_t k, const GemmInput& a, const GemmInput& b,
                  const GemmOutput& c) {
    const A* const from = static_cast<const A*>(a.data) + first * a.stride;
    const B* const one = static_cast<const B*>(b.data) + j * b.stride;
    const B* const other = pair ? one + b.stride : one;
    __m512 sums[M], others[M];
#pragma GCC unroll 8
    for (int i = 0; i < M; ++i) sums[i] = others[i] = _mm512_setzero_ps();
    for (int64_t at = 0; at < k; at += Vectors::size) {
      const auto left = Vectors::load(one + at, k - at), right = Vectors::load(other + at, k - at);
#pragma GCC unroll 8
      for (int i = 0; i < M; ++i) {
        const auto x = Vectors::load(from + i * a.stride + at, k - at);
        sums[i] = Vectors::add(sums[i], x, left);
        others[i] = Vectors::add(others[i], x, right);
      }
    }
#pragma GCC unroll 8
    for (int i = 0; i < M; ++i) {
      put(c, first + i, j, _mm512_reduce_add_ps(sums[i]));
      if (pair) put(c, first + i, j + 1, _mm512_reduce_add_ps(others[i]));
    }
  }
};

template <class Vectors>
void multiply_few_rows(int64_t m, int64_t n, int64_t k, const GemmInput& a, const GemmInput& b,
                       const GemmOutput& c) {
  using Of = FewRows<Vectors>;
  constexpr decltype(&Of::template run<1>) by_count[] = {
      &Of::template run<1>, &Of::template run<2>, &Of::template run<3>, &Of::template run<4>,
      &Of::template run<5>, &Of::template run<6>, &Of::template run<7>, &Of::template run<8>};
  for (int64_t j = 0; j < n; j += 2) {
    for (int64_t first = 0; first < m; first += rows_at_once) {
      const int64_t count = m - first < rows_at_once ? m - first : rows_at_once;
      by_count[count - 1](first, j, j + 1 < n, k, a, b, c);
    }
  }
}

}  // namespace
}  // namespace d9d::kernels
