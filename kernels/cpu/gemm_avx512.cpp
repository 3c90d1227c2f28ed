// The blocked product over the tiles of tile_avx512.hpp: panels of b [k, 32] come from the first or second
// cache, panels of a [14, k] from the second.

#include "kernels/cpu/tile_avx512.hpp"

namespace d9d::kernels {
namespace {

constexpr int64_t block_tiles = 16;      // of a: 16 panels, 460 KiB of the second cache
constexpr int64_t block_columns = 1024;  // of b: 2 MiB of the third

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

template <int R, bool Transposed, class C>
void tile(int64_t kc, const float* a, const float* b, const TileOutput& out) {
  for (int i = 0; i < R; ++i) {
    _mm_prefetch(static_cast<const char*>(out.row[i]), _MM_HINT_T0);
    _mm_prefetch(static_cast<const char*>(out.row[i]) + 64, _MM_HINT_T0);
  }
  Sums<R> sums;
  accumulate<R, Transposed>(kc, a, 16, b, sums);
#pragma GCC unroll 16
  for (int i = 0; i < R; ++i) {
    if (out.scaled) {
      sums.left[i] = _mm512_mul_ps(sums.left[i], _mm512_set1_ps(out.scale[i]));
      sums.right[i] = _mm512_mul_ps(sums.right[i], _mm512_set1_ps(out.scale[i]));
    }
    C* row = static_cast<C*>(out.row[i]);
    put(row, out.left, sums.left[i], out.add);
    if (out.right) put(row + 16, out.right, sums.right[i], out.add);
  }
}

template <bool Transposed, class C>
struct TileOf {
  template <int R>
  struct With {
    static void run(int64_t kc, const float* a, const float* b, const TileOutput& out) {
      tile<R, Transposed, C>(kc, a, b, out);
    }
  };
};

auto tile_for(int64_t rows, bool transposed, bool bf16) {
  const auto index = static_cast<std::size_t>(rows - 1);
  if (bf16) {
    return transposed ? by_rows<TileOf<true, Bf16>::With>[index] : by_rows<TileOf<false, Bf16>::With>[index];
  }
  return transposed ? by_rows<TileOf<true, float>::With>[index] : by_rows<TileOf<false, float>::With>[index];
}

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
  thread_local Scratch scratch_a, scratch_b;
  const Heights heights(m);
  const int64_t panel = a.transposed ? gemm_depth * 16 : tile_rows * panel_stride;
  const int64_t columns_max = n < block_columns ? n : block_columns;
  const int64_t panels_b = (columns_max + tile_columns - 1) / tile_columns;
  float* packed_a = scratch_a.at_least(std::min(heights.tiles, block_tiles) * panel);
  float* packed_b = scratch_b.at_least(panels_b * gemm_depth * tile_columns);
  for (int64_t j0 = 0; j0 < n; j0 += block_columns) {
    const int64_t nc = std::min(block_columns, n - j0);
    for (int64_t k0 = 0; k0 < k; k0 += gemm_depth) {
      const int64_t kc = std::min(gemm_depth, k - k0);
      for (int64_t j = 0; j < nc; j += tile_columns) {
        (b.bf16 ? pack_b<Bf16> : pack_b<float>)(b, j0 + j, std::min(tile_columns, nc - j), k0, kc,
                                                packed_b + j * gemm_depth);
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
            tile_for(at.rows, a.transposed, c.bf16)(kc, packed_a + (t - t0) * panel,
                                                    packed_b + j * gemm_depth,
                                                    output_of(c, at, c.add || k0 > 0));
          }
        }
      }
    }
  }
}

}  // namespace d9d::kernels
