// The blocked product: panels of b [k, 32] come from the first or second cache, panels of a [tile's rows, k] from the
// second. `Tiles` says how many rows a tile has and computes one; its base `Panels` says what a word of a panel is and
// how it is packed. RegisterTiles are those of tile_avx512.hpp.

#include "kernels/cpu/loops/tile_avx512.hpp"

namespace d9d::kernels {
namespace {

constexpr int64_t block_bytes = 560 << 10;  // of packed a: about half of the second cache
constexpr int64_t block_columns = 1024;     // of b
constexpr int64_t partial_sums = 1 << 20;   // kept of a bf16 result, if its rows allow

constexpr int64_t most_rows = 32;  // of any tile

// Where a tile goes, and what is added to it before.
struct TileOutput {
  int64_t rows;
  void* row[most_rows];
  const void* addend[most_rows];
  float scale[most_rows];
  __mmask16 left, right;
  bool add, scaled, bf16, addend_bf16;
};

// One row's 16 lanes `half` of a tile. The branches are the same for a whole product.
inline void put(const TileOutput& out, int64_t row, int64_t half, __mmask16 mask, __m512 value) {
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

// The memory that the next panels of b come from, fetched line by line while the panels before them are multiplied.
class Prefetch {
 public:
  Prefetch(const GemmInput& b, int64_t column, int64_t columns, int64_t k0, int64_t kc) : b_(b) {
    if (columns <= 0) return;
    row_ = b.transposed ? column : k0;
    end_ = row_ + (b.transposed ? columns : kc);
    offset_ = (b.transposed ? k0 : column) * size();
    bytes_ = (b.transposed ? kc : columns) * size();
    begin_row();
  }
  void lines(int64_t count) {
    for (; count > 0 && row_ < end_; --count) {
      _mm_prefetch(at_ + byte_, _MM_HINT_T1);
      byte_ += line;
      if (byte_ < bytes_) continue;
      ++row_;
      begin_row();
    }
  }
  int64_t left() const { return (end_ - row_) * ((bytes_ + line - 1) / line); }

 private:
  static constexpr int64_t line = 64;
  int64_t size() const { return b_.bf16 ? 2 : 4; }
  void begin_row() {
    byte_ = 0;
    if (row_ == end_) return;
    const int64_t row = b_.rows ? b_.rows[row_] : row_;
    at_ = static_cast<const char*>(b_.data) + row * b_.stride * size() + offset_;
  }
  const GemmInput& b_;
  const char* at_ = nullptr;
  int64_t row_ = 0, end_ = 0, offset_ = 0, byte_ = 0, bytes_ = 0;
};

inline void prefetch_row(const TileOutput& out, int64_t row) {
  _mm_prefetch(static_cast<const char*>(out.row[row]), _MM_HINT_T0);
  if (!out.bf16) _mm_prefetch(static_cast<const char*>(out.row[row]) + 64, _MM_HINT_T0);
}

template <class Add, bool Transposed>
struct RegisterTileOf {
  template <int R>
  struct With {
    static void run(int64_t words, const float* a, int64_t stride, const float* b, const TileOutput& out,
                    Prefetch& next, int64_t lines) {
      next.lines(lines);
      for (int64_t i = 0; i < out.rows; ++i) prefetch_row(out, i);
      Sums<R> sums;
      accumulate<R, Transposed, Add>(words, a, stride, b, sums);
#pragma GCC unroll 16
      for (int i = 0; i < R; ++i) {
        put(out, i, 0, out.left, sums.left[i]);
        if (out.right) put(out, i, 16, out.right, sums.right[i]);
      }
    }
  };
};

// Tiles of up to 14 x 32 sums in registers. A transposed a is packed as [k][16], any other one as [14][panel_stride].
template <class Panels, class Add>
struct RegisterTiles : Panels {
  using Rows = RowTiles;
  struct Scope {};
  static constexpr int64_t rows_max = tile_rows, columns_at_once = tile_columns;
  static int64_t panel_size(const GemmInput& a) {
    return a.transposed ? panel_words * 16 : tile_rows * panel_stride;
  }
  static int64_t stride(const GemmInput& a) { return a.transposed ? 16 : panel_stride; }
  static auto tile(const GemmInput& a, int64_t rows) {
    const auto& tiles = a.transposed ? by_rows<RegisterTileOf<Add, true>::template With>
                                     : by_rows<RegisterTileOf<Add, false>::template With>;
    return tiles[static_cast<std::size_t>(rows - 1)];
  }
};

template <class Tiles>
class Product {
 public:
  Product(int64_t m, int64_t n, int64_t k, const GemmInput& a, const GemmInput& b, const GemmOutput& c)
      : n_(n), k_(k), a_(a), b_(b), c_(c), row_tiles_(m), direct_(Tiles::is_direct(a, k)) {
    if (c.bf16 && k > depth) columns_ = std::clamp(partial_sums / m / 256 * 256, int64_t{256}, block_columns);
    const int64_t longest = words_of(std::min(k, depth));
    const int64_t tiles_max = std::max<int64_t>(1, block_bytes / (Tiles::rows_max * 4 * longest));
    blocks_ = (row_tiles_.tiles + tiles_max - 1) / tiles_max;
    block_tiles_ = (row_tiles_.tiles + blocks_ - 1) / blocks_;
    panel_ = Tiles::panel_size(a_);
  }

  void run(Scratch& scratch_a, Scratch& scratch_b, Scratch& scratch_c) {
    if (!direct_) packed_a_ = scratch_a.at_least(block_tiles_ * panel_);
    // With one block of a, panels of b are used once after they were packed.
    packed_b_ = scratch_b.at_least((blocks_ == 1 ? Tiles::columns_at_once : columns_) * panel_words);
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
  static constexpr int64_t depth = panel_words * Tiles::elements_per_word;
  static int64_t words_of(int64_t k) { return (k + Tiles::elements_per_word - 1) / Tiles::elements_per_word; }

  struct TileInput {
    const float* data;
    int64_t stride;
  };
  TileInput rows_at(int64_t t, int64_t t0, int64_t k0) const {
    if (!direct_) return {packed_a_ + (t - t0) * panel_, Tiles::stride(a_)};
    const int64_t row = row_tiles_.first(t), stride = a_.stride / Tiles::elements_per_word;
    const int64_t word = k0 / Tiles::elements_per_word;
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
    out.rows = row_tiles_.rows(t);
    for (int64_t i = 0; i < out.rows; ++i) {
      const int64_t row = c_.rows ? c_.rows[begin + i] : begin + i;
      char* const stored = static_cast<char*>(c_.data) + (row * c_.stride + j) * (c_.bf16 ? 2 : 4);
      float* const sums = sums_ ? sums_ + (begin + i) * columns_ + j - j0 : nullptr;
      out.row[i] = to_sums ? static_cast<void*>(sums) : stored;
      out.addend[i] = from_sums ? static_cast<const void*>(sums) : stored;
      if (out.scaled) out.scale[i] = c_.row_scale[begin + i];
    }
    return out;
  }

  // What is packed after the set of panels before column `next`: the set there, or the first one of the next chunk of k.
  Prefetch prefetch_of(int64_t block, int64_t j0, int64_t j1, int64_t next, int64_t k0, int64_t kc) const {
    if (next == j1) {
      next = j0;
      k0 += kc;
      kc = std::min(depth, k_ - k0);
      if (blocks_ > 1) kc = 0;  // other rows of a come first
    }
    return Prefetch(b_, next, block == 0 && kc > 0 ? std::min(Tiles::columns_at_once, j1 - next) : 0, k0, kc);
  }

  void multiply(int64_t block, int64_t j0, int64_t j1, int64_t k0, int64_t kc) {
    const int64_t t0 = block * block_tiles_, t1 = std::min(row_tiles_.tiles, t0 + block_tiles_);
    for (int64_t t = t0; t < t1 && !direct_; ++t) {
      Tiles::pack_rows(a_, row_tiles_.first(t), row_tiles_.rows(t), k0, kc, packed_a_ + (t - t0) * panel_);
    }
    for (int64_t j = j0; j < j1; j += Tiles::columns_at_once) {
      float* const panels = packed_b_ + (blocks_ == 1 ? 0 : (j - j0) * panel_words);
      const int64_t next = std::min(j1, j + Tiles::columns_at_once);
      if (block == 0) Tiles::pack_columns(b_, j, next - j, k0, kc, panels);
      Prefetch prefetch = prefetch_of(block, j0, j1, next, k0, kc);
      const int64_t runs = (next - j + tile_columns - 1) / tile_columns * (t1 - t0);
      const int64_t lines = (prefetch.left() + runs - 1) / runs;
      for (int64_t column = j; column < next; column += tile_columns) {
        const float* const panel = panels + (column - j) * panel_words;
        const int64_t columns = std::min(tile_columns, next - column);
        for (int64_t t = t0; t < t1; ++t) {
          const auto [rows_of_a, stride] = rows_at(t, t0, k0);
          Tiles::tile(a_, row_tiles_.rows(t))(words_of(kc), rows_of_a, stride, panel,
                                              output_at(t, column, j0, columns, k0, kc), prefetch, lines);
        }
      }
    }
  }

  int64_t n_, k_;
  const GemmInput &a_, &b_;
  const GemmOutput& c_;
  typename Tiles::Rows row_tiles_;
  bool direct_;
  int64_t columns_ = block_columns;
  int64_t blocks_ = 1, block_tiles_ = 1, panel_ = 0;
  float *packed_a_ = nullptr, *packed_b_ = nullptr, *sums_ = nullptr;
};

template <class Tiles>
void multiply_blocked(int64_t m, int64_t n, int64_t k, const GemmInput& a, const GemmInput& b,
                      const GemmOutput& c) {
  thread_local Scratch scratch_a, scratch_b, scratch_c;
  [[maybe_unused]] const typename Tiles::Scope scope;
  Product<Tiles>(m, n, k, a, b, c).run(scratch_a, scratch_b, scratch_c);
}

}  // namespace
}  // namespace d9d::kernels
