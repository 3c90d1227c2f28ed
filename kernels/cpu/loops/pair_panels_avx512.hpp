#pragma once
// Panels of bfloat16 for instructions that multiply pairs: a word is a pair of elements that follow each other in k,
// the earlier one in the lower half. Only for files compiled for AVX-512; each gets its own copy.

#include "kernels/cpu/loops/tile_avx512.hpp"

namespace d9d::kernels {
namespace {

inline __m512 words_at(const Bf16* from, int64_t elements) {
  const __mmask32 mask = elements >= 32 ? 0xffffffff : elements <= 0 ? 0 : (__mmask32{1} << elements) - 1;
  return _mm512_castsi512_ps(_mm512_maskz_loadu_epi16(mask, from));
}

// 16 words of rows k and k + 1 of what is stored; the last row may have no partner.
inline __m512 interleaved(const GemmInput& input, int64_t k, bool partner, int64_t column, __mmask16 mask) {
  const auto row = [&](int64_t number) {
    return _mm512_cvtepu16_epi32(_mm256_maskz_loadu_epi16(mask, storage_row<Bf16>(input, number) + column));
  };
  const __m512i low = row(k), high = partner ? row(k + 1) : _mm512_setzero_si512();
  return _mm512_castsi512_ps(_mm512_or_si512(low, _mm512_slli_epi32(high, 16)));
}

struct PairPanels {
  static constexpr int64_t elements_per_word = 2;

  // As pack_a of fp32, with words.
  static void pack_rows(const GemmInput& a, int64_t first, int64_t rows, int64_t k0, int64_t kc, float* to) {
    if (!a.transposed) {
      for (int64_t i = 0; i < rows; ++i) {
        const Bf16* const from = storage_row<Bf16>(a, first + i) + k0;
        const Bf16* const later = storage_row<Bf16>(a, first + std::min(i + 2, rows - 1)) + k0;
        for (int64_t k = 0; k < kc; k += 32) {
          _mm_prefetch(later + k, _MM_HINT_T0);
          _mm512_storeu_ps(to + i * panel_stride + k / 2, words_at(from + k, kc - k));
        }
      }
      return;
    }
    constexpr int64_t ahead = 24;
    const __mmask16 mask = first_lanes(rows);
    for (int64_t k = 0; k < kc; k += 2) {
      for (int64_t later = k + ahead; later < std::min(kc, k + ahead + 2); ++later) {
        _mm_prefetch(storage_row<Bf16>(a, k0 + later) + first, _MM_HINT_T0);
      }
      _mm512_store_ps(to + k * 8, interleaved(a, k0 + k, k + 1 < kc, first, mask));
    }
  }

  // As pack_b of fp32, with words.
  static void pack_columns(const GemmInput& b, int64_t j, int64_t columns, int64_t k0, int64_t kc,
                           float* to) {
    if (!b.transposed) {
      const __mmask16 left = first_lanes(columns), right = first_lanes(columns - 16);
      for (int64_t k = 0; k < kc; k += 2, to += tile_columns) {
        _mm512_store_ps(to, interleaved(b, k0 + k, k + 1 < kc, j, left));
        _mm512_store_ps(to + 16, interleaved(b, k0 + k, k + 1 < kc, j + 16, right));
      }
      return;
    }
    const int64_t words = (kc + 1) / 2;
    for (int64_t half = 0; half < tile_columns; half += 16) {
      for (int64_t word = 0; word < words; word += 16) {
        __m512 r[16];
        for (int i = 0; i < 16; ++i) {
          r[i] = i < columns - half
                     ? words_at(storage_row<Bf16>(b, j + half + i) + k0 + 2 * word, kc - 2 * word)
                     : _mm512_setzero_ps();
        }
        transpose(r);
        const int64_t size = std::min<int64_t>(words - word, 16);
        for (int64_t i = 0; i < size; ++i) _mm512_store_ps(to + (word + i) * tile_columns + half, r[i]);
      }
    }
  }

  // Whole words that lie where words may lie, in rows that do not share cache sets.
  static bool is_direct(const GemmInput& a, int64_t k) {
    return !a.transposed && !a.rows && k % 2 == 0 && a.stride % 2 == 0 && a.stride % 2048 != 0 &&
           reinterpret_cast<std::uintptr_t>(a.data) % 4 == 0;
  }
};

}  // namespace
}  // namespace d9d::kernels
