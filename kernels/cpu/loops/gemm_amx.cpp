// Products of bfloat16 with bfloat16 by the tile instructions of AMX_BF16. Two registers of a (16 rows x 32 of k) by
// two of b make 32 x 32 sums, and all eight tile registers are in use.

#include <type_traits>

#include "kernels/cpu/loops/gemm_avx512.hpp"
#include "kernels/cpu/loops/gemm_avx512.inl"
#include "kernels/cpu/loops/pair_panels_avx512.hpp"
#include "kernels/cpu/loops/tile_registers.hpp"

namespace d9d::kernels {
namespace {

constexpr int64_t register_words = 16;  // of k in a tile register
constexpr int64_t half = 16;            // the rows, or the columns, of a register of sums
constexpr int64_t words_ahead = 8;      // fetched before they are packed

int64_t whole_registers(int64_t words) {
  return (words + register_words - 1) / register_words * register_words;
}

struct alignas(64) SumTile {
  float sums[2 * half][tile_columns];
};

// Sums 0, 1 are the upper half's, 2, 3 the lower half's; 4, 5 hold a and 6, 7 hold b.
template <bool Lower, bool Right>
void multiply_tile(int64_t words, const float* a, int64_t stride, const float* b, const TileOutput& out,
                   Prefetch& next, int64_t lines, SumTile& to) {
  constexpr int64_t b_bytes = tile_columns * 4;
  const int64_t a_bytes = stride * 4;
  // Fetched in small portions: a longer one waits for the first of its lines while nothing is multiplied.
  const auto portion_of = [&](int64_t all) { return (all * register_words + words - 1) / words; };
  const int64_t portion = portion_of(lines), row_portion = portion_of(out.rows);
  int64_t row = 0;
  finish_stores();
  _tile_zero(0);
  if constexpr (Right) _tile_zero(1);
  if constexpr (Lower) _tile_zero(2);
  if constexpr (Lower && Right) _tile_zero(3);
  for (int64_t word = 0; word < words; word += register_words) {
    next.lines(portion);
    for (const int64_t end = std::min(out.rows, row + row_portion); row < end; ++row) prefetch_row(out, row);
    _tile_loadd(6, b + word * tile_columns, b_bytes);
    _tile_loadd(4, a + word, a_bytes);
    _tile_dpbf16ps(0, 4, 6);
    if constexpr (Right) {
      _tile_loadd(7, b + word * tile_columns + half, b_bytes);
      _tile_dpbf16ps(1, 4, 7);
    }
    if constexpr (Lower) {
      _tile_loadd(5, a + half * stride + word, a_bytes);
      _tile_dpbf16ps(2, 5, 6);
      if constexpr (Right) _tile_dpbf16ps(3, 5, 7);
    }
  }
  _tile_stored(0, to.sums[0], b_bytes);
  if constexpr (Right) _tile_stored(1, to.sums[0] + half, b_bytes);
  if constexpr (Lower) _tile_stored(2, to.sums[half], b_bytes);
  if constexpr (Lower && Right) _tile_stored(3, to.sums[half] + half, b_bytes);
}

// A whole row of a tile that is not scaled: rounded to nearest even by the instruction for it, which takes denormals
// for zero. Addend is void when nothing is added.
template <class Addend>
void store_rounded(const float* sums, [[maybe_unused]] const void* addend, Bf16* to) {
  __m512 left = _mm512_load_ps(sums), right = _mm512_load_ps(sums + half);
  if constexpr (!std::is_void_v<Addend>) {
    const auto* const before = static_cast<const Addend*>(addend);
    left = _mm512_add_ps(left, load(before, 0xffff));
    right = _mm512_add_ps(right, load(before + half, 0xffff));
  }
  const __m512bh rounded = _mm512_cvtne2ps_pbh(right, left);
  _mm512_storeu_si512(to, reinterpret_cast<const __m512i&>(rounded));
}

template <class Addend>
void store_rounded(const SumTile& tile, const TileOutput& out) {
  for (int64_t i = 0; i < out.rows; ++i) {
    store_rounded<Addend>(tile.sums[i], out.addend[i], static_cast<Bf16*>(out.row[i]));
  }
}

template <bool Lower>
void run_tile(int64_t words, const float* a, int64_t stride, const float* b, const TileOutput& out,
              Prefetch& next, int64_t lines) {
  SumTile tile;
  (out.right ? multiply_tile<Lower, true> : multiply_tile<Lower, false>)(words, a, stride, b, out, next,
                                                                         lines, tile);
  if (out.bf16 && !out.scaled && out.right == 0xffff) {
    if (!out.add) return store_rounded<void>(tile, out);
    return out.addend_bf16 ? store_rounded<Bf16>(tile, out) : store_rounded<float>(tile, out);
  }
  for (int64_t i = 0; i < out.rows; ++i) {
    put(out, i, 0, out.left, _mm512_load_ps(tile.sums[i]));
    if (out.right) put(out, i, half, out.right, _mm512_load_ps(tile.sums[i] + half));
  }
}

// As many tiles of 32 rows as there are: a register with fewer rows takes as long as a full one.
struct FullTiles {
  int64_t all, tiles;
  explicit FullTiles(int64_t rows) : all(rows), tiles((rows + most_rows - 1) / most_rows) {}
  int64_t first(int64_t tile) const { return tile * most_rows; }
  int64_t rows(int64_t tile) const { return std::min(most_rows, all - first(tile)); }
  int64_t rows() const { return all; }
};

// Panels of a are [32][panel_stride] and those of b [words][32], both zero up to whole registers. Rows that a tile
// lacks stay as they are: their sums go nowhere.
struct AmxTiles {
  using Rows = FullTiles;
  using Scope = TileRegisters;
  // Four panels at once: 64 bytes of a row, then 64 of the next one, come at less than half the rate of 256.
  static constexpr int64_t rows_max = most_rows, columns_at_once = 4 * tile_columns;
  static constexpr int64_t elements_per_word = PairPanels::elements_per_word;
  static int64_t panel_size(const GemmInput&) { return most_rows * panel_stride; }
  static int64_t stride(const GemmInput&) { return panel_stride; }
  static bool is_direct(const GemmInput&, int64_t) { return false; }
  static auto tile(const GemmInput&, int64_t rows) { return rows > half ? run_tile<true> : run_tile<false>; }

  static void pack_rows(const GemmInput& a, int64_t first, int64_t rows, int64_t k0, int64_t kc, float* to) {
    if (!a.transposed) return PairPanels::pack_rows(a, first, rows, k0, kc, to);
    for (int64_t upper = 0; upper < rows; upper += half) {
      const __mmask16 mask = first_lanes(rows - upper);
      for (int64_t k = 0; k < kc; k += 2 * register_words) {
        __m512 r[16];
        for (int64_t i = 0; i < 16; ++i) {
          const int64_t at = k + 2 * i;
          r[i] = at < kc ? interleaved(a, k0 + at, at + 1 < kc, first + upper, mask) : _mm512_setzero_ps();
        }
        transpose(r);
        for (int64_t i = 0; i < 16; ++i) _mm512_store_ps(to + (upper + i) * panel_stride + k / 2, r[i]);
      }
    }
  }

  static void pack_columns(const GemmInput& b, int64_t j, int64_t columns, int64_t k0, int64_t kc,
                           float* to) {
    const int64_t words = (kc + 1) / 2, panel_size = panel_words * tile_columns;
    const int64_t panels = (columns + tile_columns - 1) / tile_columns;
    for (int64_t p = 0; b.transposed && p < panels; ++p) {
      const int64_t first = p * tile_columns;
      PairPanels::pack_columns(b, j + first, std::min(tile_columns, columns - first), k0, kc,
                               to + p * panel_size);
    }
    for (int64_t word = 0; !b.transposed && word < words; ++word) {
      // The first panels of a product nobody has fetched, and no hardware prefetcher follows such short rows.
      for (int64_t k = 2 * (word + words_ahead); k < std::min(kc, 2 * (word + words_ahead) + 2); ++k) {
        const Bf16* const row = storage_row<Bf16>(b, k0 + k) + j;
        for (int64_t column = 0; column < columns; column += 32) _mm_prefetch(row + column, _MM_HINT_T0);
      }
      for (int64_t column = 0; column < panels * tile_columns; column += half) {
        float* const panel = to + column / tile_columns * panel_size;
        _mm512_store_ps(
            panel + word * tile_columns + column % tile_columns,
            interleaved(b, k0 + 2 * word, 2 * word + 1 < kc, j + column, first_lanes(columns - column)));
      }
    }
    for (int64_t p = 0; p < panels; ++p) {
      float* const panel = to + p * panel_size;
      std::fill(panel + words * tile_columns, panel + whole_registers(words) * tile_columns, 0.0F);
    }
  }
};

}  // namespace

void gemm_amx(int64_t m, int64_t n, int64_t k, const GemmInput& a, const GemmInput& b, const GemmOutput& c) {
  multiply_blocked<AmxTiles>(m, n, k, a, b, c);
}

}  // namespace d9d::kernels
