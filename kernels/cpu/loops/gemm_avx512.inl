// The blocked product over the tiles of tile_avx512.hpp: panels of b [k, 32] come from the first or second
// cache, panels of a [14, k] from the second. `Panels` says what a word of a panel is and how it is packed.

#include "kernels/cpu/loops/tile_avx512.hpp"

namespace d9d::kernels {
namespace {

constexpr int64_t block_bytes = 560 << 10;  // of packed a: about half of the second cache
constexpr int64_t block_columns = 1024;     // of b
constexpr int64_t partial_sums = 1 << 20;   // kept of a bf16 result, if its rows allow

// Where a tile goes, and what is added to it before.
struct TileOutput {
  void* row[tile_rows];
  const void* addend[tile_rows];
  float scale[tile_rows];
  __mmask16 left, right;
  bool add, scaled, bf16, addend_bf16;
};

// One row's 16 lanes `half` of a tile. The branches are the same for a whole product.
inline void put(const TileOutput& out, int row, int64_t half, __mmask16 mask, __m512 value) {
  if (out.scaled) value = _mm512_mul_ps(value, _mm512_set1_ps(out.scale[row]));
  if (out.add && out.addend_bf16) {
    value = _mm512_add_ps(value, load(static_cast<const Bf16*>(out.addend[row]) + half, mask));
  } else if (out.add) {
    value = _mm512_add_ps(value, load(static_cast<const float*>(out.addend[row]) + half, mask));
  }
  if (out.bf16) {
    store(static_cast<Bf16*>(out.row[row]) + half, mask, value);
  } else {
    store(static_cast<float*>(out.row[row]) + half, mask, value);
  }
}

template <class Panels, bool Transposed>
struct TileOf {
  template <int R>
  struct With {
    static void run(int64_t words, const float* a, int64_t stride, const float* b, const TileOutput& out) {
      for (int i = 0; i < R; ++i) {
        _mm_prefetch(static_cast<const char*>(out.row[i]), _MM_HINT_T0);
        _mm_prefetch(static_cast<const char*>(out.row[i]) + 64, _MM_HINT_T0);
      }
      Sums<R> sums;
      accumulate<R, Transposed, typename Panels::Add>(words, a, stride, b, sums);
#pragma GCC unroll 16
      for (int i = 0; i < R; ++i) {
        put(out, i, 0, out.left, sums.left[i]);
        if (out.right) put(out, i, 16, out.right, sums.right[i]);
      }
    }
  };
};

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

template <class Panels>
class Product {
 public:
  Product(int64_t m, int64_t n, int64_t k, const GemmInput& a, const GemmInput& b, const GemmOutput& c)
      : n_(n), k_(k), a_(a), b_(b), c_(c), row_tiles_(m), direct_(Panels::is_direct(a, k)) {
    if (c.bf16 && k > depth) columns_ = std::clamp(partial_sums / m / 256 * 256, int64_t{256}, block_columns);
    const int64_t longest = words_of(std::min(k, depth));
    const int64_t tiles_max = std::max<int64_t>(1, block_bytes / (tile_rows * 4 * longest));
    blocks_ = (row_tiles_.tiles + tiles_max - 1) / tiles_max;
    block_tiles_ = (row_tiles_.tiles + blocks_ - 1) / blocks_;
    panel_ = a_.transposed ? panel_words * 16 : tile_rows * panel_stride;
  }

  void run(Scratch& scratch_a, Scratch& scratch_b, Scratch& scratch_c) {
    if (!direct_) packed_a_ = scratch_a.at_least(block_tiles_ * panel_);
    // With one block of a, a panel of b is used once after it was packed.
    packed_b_ = scratch_b.at_least((blocks_ == 1 ? tile_columns : columns_) * panel_words);
    if (c_.bf16 && k_ > depth) sums_ = scratch_c.at_least(row_tiles_.rows() * columns_);
    for (int64_t j0 = 0; j0 < n_; j0 += columns_) {
      for (int64_t k0 = 0; k0 < k_; k0 += depth) {
        for (int64_t block = 0; block < blocks_; ++block) {
          multiply(block, j0, std::min(n_, j0 + columns_), k0, std::min(depth, k_ - k0));
        }
      }
    }
  }

 private:
  static constexpr int64_t depth = panel_words * Panels::elements_per_word;
  static int64_t words_of(int64_t k) { return (k + Panels::elements_per_word - 1) / Panels::elements_per_word; }

  struct TileInput {
    const float* data;
    int64_t stride;
  };
  TileInput rows_at(int64_t t, int64_t t0, int64_t k0) const {
    if (!direct_) return {packed_a_ + (t - t0) * panel_, a_.transposed ? 16 : panel_stride};
    const int64_t row = row_tiles_.first(t), stride = a_.stride / Panels::elements_per_word;
    const int64_t word = k0 / Panels::elements_per_word;
    return {static_cast<const float*>(a_.data) + (a_.transposed ? word * stride + row : row * stride + word),
            stride};
  }

  // Sums of a bf16 result over several chunks of k are kept in fp32 until the last one.
  TileOutput output_at(int64_t t, int64_t j, int64_t j0, int64_t columns, int64_t k0, int64_t kc) const {
    const bool first = k0 == 0, last = k0 + kc == k_;
    const bool to_sums = sums_ && !last, from_sums = sums_ && !first;
    TileOutput out;
    out.left = first_lanes(columns);
    out.right = first_lanes(columns - 16);
    out.add = c_.add || !first;
    out.scaled = c_.row_scale != nullptr;
    out.bf16 = c_.bf16 && !to_sums;
    out.addend_bf16 = c_.bf16 && !from_sums;
    const int64_t begin = row_tiles_.first(t);
    for (int64_t i = 0; i < row_tiles_.rows(t); ++i) {
      const int64_t row = c_.rows ? c_.rows[begin + i] : begin + i;
      char* const stored = static_cast<char*>(c_.data) + (row * c_.stride + j) * (c_.bf16 ? 2 : 4);
      float* const sums = sums_ ? sums_ + (begin + i) * columns_ + j - j0 : nullptr;
      out.row[i] = to_sums ? static_cast<void*>(sums) : stored;
      out.addend[i] = from_sums ? static_cast<const void*>(sums) : stored;
      if (out.scaled) out.scale[i] = c_.row_scale[begin + i];
    }
    return out;
  }

  void multiply(int64_t block, int64_t j0, int64_t j1, int64_t k0, int64_t kc) {
    const int64_t t0 = block * block_tiles_, t1 = std::min(row_tiles_.tiles, t0 + block_tiles_);
    for (int64_t t = t0; t < t1 && !direct_; ++t) {
      Panels::pack_rows(a_, row_tiles_.first(t), row_tiles_.rows(t), k0, kc, packed_a_ + (t - t0) * panel_);
    }
    const auto& tiles = a_.transposed ? by_rows<TileOf<Panels, true>::template With>
                                      : by_rows<TileOf<Panels, false>::template With>;
    for (int64_t j = j0; j < j1; j += tile_columns) {
      float* panel = packed_b_ + (blocks_ == 1 ? 0 : (j - j0) * panel_words);
      const int64_t columns = std::min(tile_columns, j1 - j), next = j + tile_columns;
      if (block == 0) Panels::pack_columns(b_, j, columns, k0, kc, panel);
      Prefetch prefetch(b_, next, block == 0 ? std::min(tile_columns, j1 - next) : 0, k0, kc);
      const int64_t prefetch_rows = (prefetch.left() + t1 - t0 - 1) / (t1 - t0);
      for (int64_t t = t0; t < t1; ++t) {
        prefetch.rows(prefetch_rows);
        const auto [rows_of_a, stride] = rows_at(t, t0, k0);
        tiles[static_cast<std::size_t>(row_tiles_.rows(t) - 1)](words_of(kc), rows_of_a, stride, panel,
                                                                output_at(t, j, j0, columns, k0, kc));
      }
    }
  }

  int64_t n_, k_;
  const GemmInput &a_, &b_;
  const GemmOutput& c_;
  RowTiles row_tiles_;
  bool direct_;
  int64_t columns_ = block_columns;
  int64_t blocks_ = 1, block_tiles_ = 1, panel_ = 0;
  float *packed_a_ = nullptr, *packed_b_ = nullptr, *sums_ = nullptr;
};

template <class Panels>
void multiply_blocked(int64_t m, int64_t n, int64_t k, const GemmInput& a, const GemmInput& b,
                      const GemmOutput& c) {
  thread_local Scratch scratch_a, scratch_b, scratch_c;
  Product<Panels>(m, n, k, a, b, c).run(scratch_a, scratch_b, scratch_c);
}

}  // namespace
}  // namespace d9d::kernels
