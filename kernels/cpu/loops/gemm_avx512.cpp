// The blocked product over the tiles of tile_avx512.hpp: panels of b [k, 32] come from the first or second
// cache, panels of a [14, k] from the second.

#include "kernels/cpu/loops/tile_avx512.hpp"

namespace d9d::kernels {
namespace {

constexpr int64_t block_bytes = 560 << 10;  // of packed a: about half of the second cache
constexpr int64_t block_columns = 1024;     // of b

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
void tile(int64_t kc, const float* a, int64_t stride, const float* b, const TileOutput& out) {
  for (int i = 0; i < R; ++i) {
    _mm_prefetch(static_cast<const char*>(out.row[i]), _MM_HINT_T0);
    _mm_prefetch(static_cast<const char*>(out.row[i]) + 64, _MM_HINT_T0);
  }
  Sums<R> sums;
  accumulate<R, Transposed>(kc, a, stride, b, sums);
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
    static void run(int64_t kc, const float* a, int64_t stride, const float* b, const TileOutput& out) {
      tile<R, Transposed, C>(kc, a, stride, b, out);
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

TileOutput output_of(const GemmOutput& c, int64_t first, int64_t rows, int64_t column, int64_t columns,
                     bool add) {
  TileOutput out;
  const int64_t size = c.bf16 ? 2 : 4;
  out.left = first_lanes(columns);
  out.right = first_lanes(columns - 16);
  out.add = add;
  out.scaled = c.row_scale != nullptr;
  for (int64_t i = 0; i < rows; ++i) {
    const int64_t row = c.rows ? c.rows[first + i] : first + i;
    out.row[i] = static_cast<char*>(c.data) + (row * c.stride + column) * size;
    if (out.scaled) out.scale[i] = c.row_scale[first + i];
  }
  return out;
}

// The memory a panel of b comes from, fetched line by line while the panel before it is multiplied.
class Prefetch {
 public:
  Prefetch(const GemmInput& b, int64_t column, int64_t columns, int64_t k0, int64_t kc) : b_(b) {
    if (columns <= 0) return;
    row_ = b.transposed ? column : k0;
    end_ = row_ + (b.transposed ? columns : kc);
    offset_ = (b.transposed ? k0 : column) * size();
    bytes_ = (b.transposed ? kc : columns) * size();
  }
  // The next `count` rows.
  void rows(int64_t count) {
    for (const int64_t stop = std::min(end_, row_ + count); row_ < stop; ++row_) {
      const int64_t row = b_.rows ? b_.rows[row_] : row_;
      const auto* at = static_cast<const char*>(b_.data) + row * b_.stride * size() + offset_;
      for (int64_t byte = 0; byte < bytes_; byte += 64) _mm_prefetch(at + byte, _MM_HINT_T1);
    }
  }
  int64_t left() const { return end_ - row_; }

 private:
  int64_t size() const { return b_.bf16 ? 2 : 4; }
  const GemmInput& b_;
  int64_t row_ = 0, end_ = 0, offset_ = 0, bytes_ = 0;
};

// Whether tiles read a where it is. Rows a multiple of 4 KiB apart share cache sets: those are packed.
bool is_direct(const GemmInput& a) {
  return !a.bf16 && !a.rows && a.stride % 1024 != 0;
}

class Product {
 public:
  Product(int64_t m, int64_t n, int64_t k, const GemmInput& a, const GemmInput& b, const GemmOutput& c)
      : n_(n), k_(k), a_(a), b_(b), c_(c), row_tiles_(m), direct_(is_direct(a)) {}

  void run(Scratch& scratch_a, Scratch& scratch_b) {
    const int64_t tiles_max = std::max<int64_t>(1, block_bytes / (tile_rows * 4 * std::min(k_, gemm_depth)));
    blocks_ = (row_tiles_.tiles + tiles_max - 1) / tiles_max;
    block_tiles_ = (row_tiles_.tiles + blocks_ - 1) / blocks_;
    panel_ = a_.transposed ? gemm_depth * 16 : tile_rows * panel_stride;
    if (!direct_) packed_a_ = scratch_a.at_least(block_tiles_ * panel_);
    // With one block of a, a panel of b is used once after it was packed.
    packed_b_ = scratch_b.at_least((blocks_ == 1 ? tile_columns : block_columns) * gemm_depth);
    for (int64_t j0 = 0; j0 < n_; j0 += block_columns) {
      for (int64_t k0 = 0; k0 < k_; k0 += gemm_depth) {
        for (int64_t block = 0; block < blocks_; ++block) {
          multiply(block, j0, std::min(n_, j0 + block_columns), k0, std::min(gemm_depth, k_ - k0));
        }
      }
    }
  }

 private:
  struct TileInput {
    const float* data;
    int64_t stride;
  };
  TileInput rows_at(int64_t t, int64_t t0, int64_t k0) const {
    if (!direct_) return {packed_a_ + (t - t0) * panel_, a_.transposed ? 16 : panel_stride};
    const int64_t row = row_tiles_.first(t), at = a_.transposed ? k0 * a_.stride + row : row * a_.stride + k0;
    return {static_cast<const float*>(a_.data) + at, a_.stride};
  }

  void multiply(int64_t block, int64_t j0, int64_t j1, int64_t k0, int64_t kc) {
    const int64_t t0 = block * block_tiles_, t1 = std::min(row_tiles_.tiles, t0 + block_tiles_);
    for (int64_t t = t0; t < t1 && !direct_; ++t) {
      (a_.bf16 ? pack_a<Bf16> : pack_a<float>)(a_, row_tiles_.first(t), row_tiles_.rows(t), k0, kc,
                                               packed_a_ + (t - t0) * panel_);
    }
    for (int64_t j = j0; j < j1; j += tile_columns) {
      float* panel = packed_b_ + (blocks_ == 1 ? 0 : (j - j0) * gemm_depth);
      const int64_t columns = std::min(tile_columns, j1 - j), next = j + tile_columns;
      if (block == 0) (b_.bf16 ? pack_b<Bf16> : pack_b<float>)(b_, j, columns, k0, kc, panel);
      Prefetch prefetch(b_, next, block == 0 ? std::min(tile_columns, j1 - next) : 0, k0, kc);
      const int64_t prefetch_rows = (prefetch.left() + t1 - t0 - 1) / (t1 - t0);
      for (int64_t t = t0; t < t1; ++t) {
        prefetch.rows(prefetch_rows);
        const auto out = output_of(c_, row_tiles_.first(t), row_tiles_.rows(t), j, columns, c_.add || k0 > 0);
        const auto [rows_of_a, stride] = rows_at(t, t0, k0);
        tile_for(row_tiles_.rows(t), a_.transposed, c_.bf16)(kc, rows_of_a, stride, panel, out);
      }
    }
  }

  int64_t n_, k_;
  const GemmInput &a_, &b_;
  const GemmOutput& c_;
  RowTiles row_tiles_;
  bool direct_;
  int64_t blocks_ = 1, block_tiles_ = 1, panel_ = 0;
  float *packed_a_ = nullptr, *packed_b_ = nullptr;
};

}  // namespace

void gemm_avx512(int64_t m, int64_t n, int64_t k, const GemmInput& a, const GemmInput& b,
                 const GemmOutput& c) {
  thread_local Scratch scratch_a, scratch_b;
  Product(m, n, k, a, b, c).run(scratch_a, scratch_b);
}

}  // namespace d9d::kernels
