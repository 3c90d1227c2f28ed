// Packed, blocked product after Goto and van de Geijn 2008: a tile of 14 x 32 results in 28 registers, panels
// of b [k, 32] from the first or second cache, panels of a [14, k] from the second.

#include <immintrin.h>

#include <algorithm>
#include <array>
#include <memory>
#include <new>
#include <utility>

#include "kernels/cpu/gemm.hpp"
#include "kernels/cpu/table.hpp"

namespace d9d::kernels {
namespace {

constexpr int64_t tile_rows = 14;
constexpr int64_t tile_columns = 32;
constexpr int64_t depth = gemm_depth;
// Rows of a panel of a lie this far apart: not a power of two, or they would share cache sets; a constant, so
// that the 14 addresses are displacements of one register.
constexpr int64_t panel_stride = depth + 16;
constexpr int64_t panel_size = tile_rows * panel_stride;
constexpr int64_t block_tiles = 16;      // of a: 16 panels, 460 KiB of the second cache
constexpr int64_t block_columns = 1024;  // of b: 2 MiB of the third

__m512 load(const float* from, __mmask16 mask) {
  return _mm512_maskz_loadu_ps(mask, from);
}
__m512 load(const Bf16* from, __mmask16 mask) {
  const __m256i bits = _mm256_maskz_loadu_epi16(mask, from);
  return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(bits), 16));
}

void store(float* to, __mmask16 mask, __m512 value) {
  _mm512_mask_storeu_ps(to, mask, value);
}
// Round to nearest even; a NaN stays one.
void store(Bf16* to, __mmask16 mask, __m512 value) {
  const __m512i bits = _mm512_castps_si512(value);
  const __m512i odd = _mm512_and_si512(_mm512_srli_epi32(bits, 16), _mm512_set1_epi32(1));
  __m512i rounded = _mm512_add_epi32(bits, _mm512_add_epi32(odd, _mm512_set1_epi32(0x7fff)));
  rounded = _mm512_srli_epi32(rounded, 16);
  const __mmask16 nan = _mm512_cmp_ps_mask(value, value, _CMP_UNORD_Q);
  rounded = _mm512_mask_set1_epi32(rounded, nan, 0x7fc0);
  _mm256_mask_storeu_epi16(to, mask, _mm512_cvtepi32_epi16(rounded));
}

__mmask16 first_lanes(int64_t count) {
  return count >= 16 ? 0xffff : count <= 0 ? 0 : static_cast<__mmask16>((1U << count) - 1);
}

template <class T>
const T* storage_row(const GemmInput& input, int64_t row) {
  return static_cast<const T*>(input.data) + (input.rows ? input.rows[row] : row) * input.stride;
}

template <class T>
void copy_row(const T* from, int64_t count, float* to) {
  for (int64_t i = 0; i < count; i += 16) {
    const __mmask16 mask = first_lanes(count - i);
    _mm512_mask_storeu_ps(to + i, mask, load(from + i, mask));
  }
}

// Rows first .. first + rows of a, columns k0 .. k0 + kc -> [rows][panel_stride], or when a is stored
// transposed [kc][16].
template <class T>
void pack_a(const GemmInput& a, int64_t first, int64_t rows, int64_t k0, int64_t kc, float* to) {
  if (!a.transposed) {
    for (int64_t i = 0; i < rows; ++i) copy_row(storage_row<T>(a, first + i) + k0, kc, to + i * panel_stride);
    return;
  }
  const __mmask16 mask = first_lanes(rows);
  for (int64_t k = 0; k < kc; ++k) {
    _mm512_store_ps(to + k * 16, load(storage_row<T>(a, k0 + k) + first, mask));
  }
}

// The 16 x 16 transpose by the usual three rounds of interleaving.
void transpose(__m512 (&r)[16]) {
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

struct TileOutput {
  void* row[tile_rows];
  float scale[tile_rows];
  __mmask16 left, right;
  bool add, scaled;
};

template <class C>
void put(C* to, __mmask16 mask, __m512 value, bool add) {
  store(to, mask, add ? _mm512_add_ps(value, load(to, mask)) : value);
}

// R rows by 32 columns. `Transposed`: the layout of the panel of a.
template <int R, bool Transposed, class C>
void tile(int64_t kc, const float* a, const float* b, const TileOutput& out) {
  __m512 left[R], right[R];
  for (int i = 0; i < R; ++i) {
    left[i] = right[i] = _mm512_setzero_ps();
    _mm_prefetch(static_cast<const char*>(out.row[i]), _MM_HINT_T0);
    _mm_prefetch(static_cast<const char*>(out.row[i]) + 64, _MM_HINT_T0);
  }
  for (int64_t k = 0; k < kc; ++k) {
    const __m512 b_left = _mm512_load_ps(b + k * tile_columns),
                 b_right = _mm512_load_ps(b + k * tile_columns + 16);
#pragma GCC unroll 16
    for (int i = 0; i < R; ++i) {
      const __m512 value = _mm512_set1_ps(Transposed ? a[k * 16 + i] : a[i * panel_stride + k]);
      left[i] = _mm512_fmadd_ps(value, b_left, left[i]);
      right[i] = _mm512_fmadd_ps(value, b_right, right[i]);
    }
  }
#pragma GCC unroll 16
  for (int i = 0; i < R; ++i) {
    if (out.scaled) {
      left[i] = _mm512_mul_ps(left[i], _mm512_set1_ps(out.scale[i]));
      right[i] = _mm512_mul_ps(right[i], _mm512_set1_ps(out.scale[i]));
    }
    C* row = static_cast<C*>(out.row[i]);
    put(row, out.left, left[i], out.add);
    if (out.right) put(row + 16, out.right, right[i], out.add);
  }
}

using Tile = void (*)(int64_t, const float*, const float*, const TileOutput&);

template <bool Transposed, class C, int... R>
constexpr std::array<Tile, sizeof...(R)> tiles(std::integer_sequence<int, R...>) {
  return {tile<R + 1, Transposed, C>...};
}
template <bool Transposed, class C>
constexpr auto tiles_of = tiles<Transposed, C>(std::make_integer_sequence<int, tile_rows>());

Tile tile_for(int64_t rows, bool transposed, bool bf16) {
  const auto index = static_cast<std::size_t>(rows - 1);
  if (bf16) return transposed ? tiles_of<true, Bf16>[index] : tiles_of<false, Bf16>[index];
  return transposed ? tiles_of<true, float>[index] : tiles_of<false, float>[index];
}

// Room for packed panels, kept by each thread: fresh pages for every product would cost as much as packing.
class Scratch {
 public:
  float* at_least(std::size_t count) {
    if (count > size_) {
      data_.reset(static_cast<float*>(::operator new(count * sizeof(float), alignment)));
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
  std::size_t size_ = 0;
};

float* scratch_a(std::size_t count) {
  thread_local Scratch scratch;
  return scratch.at_least(count);
}
float* scratch_b(std::size_t count) {
  thread_local Scratch scratch;
  return scratch.at_least(count);
}

// m rows in tiles of nearly equal height: 128 rows are 8 tiles of 13 and 2 of 12, not 9 of 14 and one of 2.
struct Heights {
  int64_t tiles, base, extra;
  explicit Heights(int64_t m) : tiles((m + tile_rows - 1) / tile_rows), base(m / tiles), extra(m % tiles) {}
  int64_t first(int64_t tile) const { return tile * base + (tile < extra ? tile : extra); }
  int64_t rows(int64_t tile) const { return base + (tile < extra ? 1 : 0); }
};

struct Block {
  int64_t row, rows;        // of the tile
  int64_t column, columns;  // of the tile
};

TileOutput output_of(const GemmOutput& c, const Block& at, bool add) {
  TileOutput out;
  const int64_t size = c.bf16 ? 2 : 4;
  out.left = first_lanes(at.columns);
  out.right = first_lanes(at.columns - 16);
  out.add = add;
  out.scaled = c.row_scale != nullptr;
  for (int64_t i = 0; i < at.rows; ++i) {
    const int64_t row = c.rows ? c.rows[at.row + i] : at.row + i;
    out.row[i] = static_cast<char*>(c.data) + (row * c.stride + at.column) * size;
    if (out.scaled) out.scale[i] = c.row_scale[at.row + i];
  }
  return out;
}

}  // namespace

void gemm_avx512(int64_t m, int64_t n, int64_t k, const GemmInput& a, const GemmInput& b,
                 const GemmOutput& c) {
  const Heights heights(m);
  const int64_t panel = a.transposed ? depth * 16 : panel_size;
  const int64_t columns_max = n < block_columns ? n : block_columns;
  const int64_t panels_b = (columns_max + tile_columns - 1) / tile_columns;
  float* packed_a = scratch_a(static_cast<std::size_t>(std::min(heights.tiles, block_tiles) * panel));
  float* packed_b = scratch_b(static_cast<std::size_t>(panels_b * depth * tile_columns));
  for (int64_t j0 = 0; j0 < n; j0 += block_columns) {
    const int64_t nc = std::min(block_columns, n - j0);
    for (int64_t k0 = 0; k0 < k; k0 += depth) {
      const int64_t kc = std::min(depth, k - k0);
      for (int64_t j = 0; j < nc; j += tile_columns) {
        (b.bf16 ? pack_b<Bf16> : pack_b<float>)(b, j0 + j, std::min(tile_columns, nc - j), k0, kc,
                                                packed_b + j * depth);
      }
      for (int64_t t0 = 0; t0 < heights.tiles; t0 += block_tiles) {
        const int64_t t1 = std::min(heights.tiles, t0 + block_tiles);
        for (int64_t t = t0; t < t1; ++t) {
          (a.bf16 ? pack_a<Bf16> : pack_a<float>)(a, heights.first(t), heights.rows(t), k0, kc,
                                                  packed_a + (t - t0) * panel);
        }
        for (int64_t j = 0; j < nc; j += tile_columns) {
          for (int64_t t = t0; t < t1; ++t) {
            const Block at{heights.first(t), heights.rows(t), j0 + j, std::min(tile_columns, nc - j)};
            tile_for(at.rows, a.transposed, c.bf16)(kc, packed_a + (t - t0) * panel, packed_b + j * depth,
                                                    output_of(c, at, c.add || k0 > 0));
          }
        }
      }
    }
  }
}

}  // namespace d9d::kernels
