// A register of weights is 16 of their rows by 32 of k where they lie, one of a is 32 of k by 16 rows: their product
// has a column for each row of a.
#include <algorithm>

#include "kernels/cpu/loops/few_rows.hpp"
#include "kernels/cpu/loops/tile_avx512.hpp"
#include "kernels/cpu/loops/tile_registers.hpp"

namespace d9d::kernels {
namespace {

constexpr int64_t block = 16;          // rows of the weight, and of a
constexpr int64_t ahead = 8 * tile_k;  // of k: hardware does not follow 16 rows that are read by turns
constexpr int64_t register_words = 256;

struct alignas(64) BlockSums {
  float of[block][block];  // [row of b][row of a]
};

void multiply_block(int64_t k, const float* pairs, const Rows<const Bf16>& b, BlockSums& to) {
  finish_stores();
  _tile_zero(0);
  for (int64_t at = 0; at < k; at += tile_k, pairs += register_words) {
    // After the end of these rows, the beginning of the next block's.
    const int64_t next = at + ahead < k ? at + ahead : block * b.stride + at + ahead - k;
    for (int64_t row = 0; row < block; ++row) _mm_prefetch(b.data + row * b.stride + next, _MM_HINT_T0);
    _tile_loadd(1, b.data + at, b.stride * 2);
    _tile_loadd(2, pairs, block * 4);
    _tile_dpbf16ps(0, 1, 2);
  }
  _tile_stored(0, to.of[0], block * 4);
  finish_stores();
}

// The last rows of b, with zeros after them.
Rows<const Bf16> padded(int64_t rows, int64_t k, const Rows<const Bf16>& b, Scratch& scratch) {
  auto* const to = reinterpret_cast<Bf16*>(scratch.at_least(block * k / 2));
  for (int64_t row = 0; row < block; ++row) {
    if (row < rows) {
      std::copy_n(b.data + row * b.stride, k, to + row * k);
    } else {
      std::fill_n(to + row * k, k, Bf16{});
    }
  }
  return {to, k};
}

template <class C>
void put(const BlockSums& sums, int64_t m, int64_t rows, C* c, int64_t stride) {
  __m512 r[block];
  for (int64_t row = 0; row < block; ++row) r[row] = _mm512_load_ps(sums.of[row]);
  transpose(r);
  for (int64_t row = 0; row < m; ++row) store(c + row * stride, first_lanes(rows), r[row]);
}

}  // namespace

void pair_rows_amx(int64_t m, int64_t k, const Rows<const Bf16>& a, float* to) {
  for (int64_t at = 0; at < k; at += tile_k, to += register_words) {
    __m512 r[block];
    for (int64_t row = 0; row < block; ++row)
      r[row] = row < m ? _mm512_castsi512_ps(_mm512_loadu_si512(a.data + row * a.stride + at))
                       : _mm512_setzero_ps();
    transpose(r);
    for (int64_t pair = 0; pair < block; ++pair) _mm512_storeu_ps(to + pair * block, r[pair]);
  }
}

template <class C>
void few_rows_amx(int64_t m, int64_t n, int64_t k, const float* pairs, const Rows<const Bf16>& b, C* c,
                  int64_t stride) {
  thread_local Scratch scratch;
  const TileRegisters registers;
  BlockSums sums;
  for (int64_t j = 0; j < n; j += block) {
    const int64_t rows = std::min(block, n - j);
    const Rows<const Bf16> stored{b.data + j * b.stride, b.stride};
    multiply_block(k, pairs, rows == block ? stored : padded(rows, k, stored, scratch), sums);
    put(sums, m, rows, c + j, stride);
  }
}
template void few_rows_amx(int64_t, int64_t, int64_t, const float*, const Rows<const Bf16>&, float*, int64_t);
template void few_rows_amx(int64_t, int64_t, int64_t, const float*, const Rows<const Bf16>&, Bf16*, int64_t);

}  // namespace d9d::kernels
