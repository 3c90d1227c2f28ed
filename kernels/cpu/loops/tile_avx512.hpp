#pragma once
// The pieces of a product after Goto and van de Geijn 2008: panels packed from operands, and a tile of 14 x
// 32 results in 28 registers. Only for files compiled for AVX-512; each gets its own copy.

#include <algorithm>
#include <array>
#include <memory>
#include <new>
#include <utility>

#include "kernels/cpu/loops/gemm_avx512.hpp"
#include "kernels/cpu/loops/vector_avx512.hpp"

namespace d9d::kernels {
namespace {

constexpr int64_t tile_rows = 14;
constexpr int64_t tile_columns = 32;
// The distance of rows in a panel of a: not a power of two, or they would share cache sets; a constant, so that
// the 14 addresses are displacements of one register.
constexpr int64_t panel_stride = panel_words + 16;

template <class T>
const T* storage_row(const GemmInput& input, int64_t row) {
  return static_cast<const T*>(input.data) + (input.rows ? input.rows[row] : row) * input.stride;
}

// Prefetches `later`, a row that is copied soon and that no hardware prefetcher would find.
template <class T>
void copy_row(const T* from, const T* later, int64_t count, float* to) {
  for (int64_t i = 0; i < count; i += 16) {
    const __mmask16 mask = first_lanes(count - i);
    _mm_prefetch(later + i, _MM_HINT_T0);
    _mm512_mask_storeu_ps(to + i, mask, load(from + i, mask));
  }
}

// Rows first .. first + rows of a, columns k0 .. k0 + kc -> [rows][panel_stride],
// or [kc][16] if a is stored transposed.
template <class T>
void pack_a(const GemmInput& a, int64_t first, int64_t rows, int64_t k0, int64_t kc, float* to) {
  if (!a.transposed) {
    for (int64_t i = 0; i < rows; ++i) {
      const T* later = storage_row<T>(a, first + std::min(i + 2, rows - 1)) + k0;
      copy_row(storage_row<T>(a, first + i) + k0, later, kc, to + i * panel_stride);
    }
    return;
  }
  // Every row is on another page: no hardware prefetcher follows.
  constexpr int64_t ahead = 24;
  const __mmask16 mask = first_lanes(rows);
  for (int64_t k = 0; k < kc; ++k) {
    if (k + ahead < kc) _mm_prefetch(storage_row<T>(a, k0 + k + ahead) + first, _MM_HINT_T0);
    _mm512_store_ps(to + k * 16, load(storage_row<T>(a, k0 + k) + first, mask));
  }
}

// The 16 x 16 transpose by the usual three rounds of interleaving.
inline void transpose(__m512 (&r)[16]) {
  __m512 t[16];
  for (int i = 0; i < 16; i += 2) {
    t[i] = _mm512_unpacklo_ps(r[i], r[i + 1]);
    t[i + 1] = _mm512_unpackhi_ps(r[i], r[i + 1]);
  }
  const auto low = [](__m512 x, __m512 y) {
    return _mm512_castpd_ps(_mm512_unpacklo_pd(_mm512_castps_pd(x), _mm512_castps_pd(y)));
  };
  const auto high = [](__m512 x, __m512 y) {
    return _mm512_castpd_ps(_mm512_unpackhi_pd(_mm512_castps_pd(x), _mm512_castps_pd(y)));
  };
  for (int i = 0; i < 16; i += 4) {
    r[i] = low(t[i], t[i + 2]);
    r[i + 1] = high(t[i], t[i + 2]);
    r[i + 2] = low(t[i + 1], t[i + 3]);
    r[i + 3] = high(t[i + 1], t[i + 3]);
  }
  for (int i = 0; i < 4; ++i) {
    t[i] = _mm512_shuffle_f32x4(r[i], r[i + 4], 0x88);
    t[i + 4] = _mm512_shuffle_f32x4(r[i], r[i + 4], 0xdd);
    t[i + 8] = _mm512_shuffle_f32x4(r[i + 8], r[i + 12], 0x88);
    t[i + 12] = _mm512_shuffle_f32x4(r[i + 8], r[i + 12], 0xdd);
  }
  for (int i = 0; i < 4; ++i) {
    r[i] = _mm512_shuffle_f32x4(t[i], t[i + 8], 0x88);
    r[i + 8] = _mm512_shuffle_f32x4(t[i], t[i + 8], 0xdd);
    r[i + 4] = _mm512_shuffle_f32x4(t[i + 4], t[i + 12], 0x88);
    r[i + 12] = _mm512_shuffle_f32x4(t[i + 4], t[i + 12], 0xdd);
  }
}

// Columns j .. j + columns (<= 32) of b, rows k0 .. k0 + kc -> [kc][32], zero beyond `columns`.
template <class T>
void pack_b(const GemmInput& b, int64_t j, int64_t columns, int64_t k0, int64_t kc, float* to) {
  if (!b.transposed) {
    const __mmask16 left = first_lanes(columns), right = first_lanes(columns - 16);
    for (int64_t k = 0; k < kc; ++k) {
      const T* row = storage_row<T>(b, k0 + k) + j;
      _mm512_store_ps(to + k * tile_columns, load(row, left));
      _mm512_store_ps(to + k * tile_columns + 16, load(row + 16, right));
    }
    return;
  }
  for (int64_t half = 0; half < tile_columns; half += 16) {
    const int64_t used = columns - half;
    for (int64_t k = 0; k < kc; k += 16) {
      const __mmask16 mask = first_lanes(kc - k);
      __m512 r[16];
      for (int i = 0; i < 16; ++i) {
        r[i] = i < used ? load(storage_row<T>(b, j + half + i) + k0 + k, mask) : _mm512_setzero_ps();
      }
      transpose(r);
      const int64_t size = kc - k < 16 ? kc - k : 16;
      for (int64_t i = 0; i < size; ++i) _mm512_store_ps(to + (k + i) * tile_columns + half, r[i]);
    }
  }
}

template <int R>
struct Sums {
  __m512 left[R], right[R];
};

// sums = a b over k: R rows of a, 32 columns of b [kc][32]. Rows of a lie `stride` apart, or when
// `Transposed` side by side and the k `stride` apart. Three bases and three multiples of the stride reach 14
// rows by addressing modes alone.
template <int R, bool Transposed, class Add = MultiplyAdd>
inline __attribute__((always_inline)) void accumulate(int64_t kc, const float* a, int64_t stride,
                                                      const float* b, Sums<R>& sums) {
#pragma GCC unroll 16
  for (int i = 0; i < R; ++i) sums.left[i] = sums.right[i] = _mm512_setzero_ps();
  const float* base[3] = {a, a + 5 * stride, a + 10 * stride};
  const int64_t twice = 2 * stride, thrice = 3 * stride, four_times = 4 * stride;
  for (int64_t k = 0; k < kc; ++k) {
    const __m512 left = _mm512_load_ps(b + k * tile_columns),
                 right = _mm512_load_ps(b + k * tile_columns + 16);
#pragma GCC unroll 16
    for (int i = 0; i < R; ++i) {
      const float* row = base[i / 5];
      const int64_t step = i % 5;
      const float element = Transposed  ? a[i]
                            : step == 0 ? row[0]
                            : step == 1 ? row[stride]
                            : step == 2 ? row[twice]
                            : step == 3 ? row[thrice]
                                        : row[four_times];
      const __m512 value = _mm512_set1_ps(element);
      sums.left[i] = Add::of(sums.left[i], value, left);
      sums.right[i] = Add::of(sums.right[i], value, right);
    }
    if constexpr (Transposed) {
      a += stride;
    } else {
      for (auto& row : base) ++row;
    }
  }
}

// One function per number of rows, 1 to 14: table[rows - 1].
template <template <int> class Function, int... R>
constexpr auto table_of(std::integer_sequence<int, R...>) {
  return std::array{&Function<R + 1>::run...};
}
template <template <int> class Function>
constexpr auto by_rows = table_of<Function>(std::make_integer_sequence<int, static_cast<int>(tile_rows)>());

// Rows in tiles of nearly equal height: 128 rows are 8 tiles of 13 and 2 of 12, not 9 of 14 and one of 2.
struct RowTiles {
  int64_t tiles, base, extra;
  explicit RowTiles(int64_t rows)
      : tiles((rows + tile_rows - 1) / tile_rows), base(rows / tiles), extra(rows % tiles) {}
  int64_t first(int64_t tile) const { return tile * base + (tile < extra ? tile : extra); }
  int64_t rows(int64_t tile) const { return base + (tile < extra ? 1 : 0); }
  int64_t rows() const { return first(tiles); }
};

// Memory kept by a thread for packed panels: fresh pages for every product would cost as much as packing.
class Scratch {
 public:
  float* at_least(int64_t count) {
    if (count > size_) {
      data_.reset(
          static_cast<float*>(::operator new(static_cast<std::size_t>(count) * sizeof(float), alignment)));
      size_ = count;
    }
    return data_.get();
  }

 private:
  static constexpr std::align_val_t alignment{64};
  struct Free {
    void operator()(float* data) const { ::operator delete(data, alignment); }
  };
  std::unique_ptr<float, Free> data_;
  int64_t size_ = 0;
};

}  // namespace
}  // namespace d9d::kernels
