// Attention over the tiles of tile_avx512.hpp. A tile is 14 query positions of one head against all keys it
// sees, so that the softmax needs no rescaling and results stay in registers over all keys; what has the
// shape [queries, keys] lives in a ScoreMatrix of some hundred rows.

#include "kernels/cpu/loops/attention_avx512.hpp"

#include <cmath>
#include <limits>

#include "kernels/cpu/loops/tile_avx512.hpp"

namespace d9d::kernels {
namespace {

int64_t round_up(int64_t count, int64_t unit) {
  return (count + unit - 1) / unit * unit;
}

// Rows of scores in chunks of panel_words keys, so that a chunk is an operand as `accumulate` wants it.
struct ScoreMatrix {
  float* data;
  int64_t rows;
  float* at(int64_t row, int64_t key) const {
    return data + (key / panel_words * rows + row) * panel_stride + key % panel_words;
  }
  static int64_t size(int64_t rows, int64_t keys) {
    return (keys + panel_words - 1) / panel_words * rows * panel_stride;
  }
};

struct Target {
  float* data;
  int64_t stride;
  int64_t columns;  // valid ones of the 32
  bool add;
};

template <bool Transposed>
struct TileOf {
  // to (+)= factor * a b.
  template <int R>
  struct With {
    static void run(int64_t kc, const float* a, const float* b, const Target& to, const float* factor) {
      Sums<R> sums;
      accumulate<R, Transposed>(kc, a, panel_stride, b, sums);
      const __mmask16 left = first_lanes(to.columns), right = first_lanes(to.columns - 16);
#pragma GCC unroll 16
      for (int i = 0; i < R; ++i) {
        float* row = to.data + i * to.stride;
        const __m512 scale = _mm512_set1_ps(factor ? factor[i] : 1.0f);
        sums.left[i] = _mm512_mul_ps(sums.left[i], scale);
        sums.right[i] = _mm512_mul_ps(sums.right[i], scale);
        if (to.add) {
          sums.left[i] = _mm512_add_ps(sums.left[i], load(row, left));
          sums.right[i] = _mm512_add_ps(sums.right[i], load(row + 16, right));
        }
        store(row, left, sums.left[i]);
        store(row + 16, right, sums.right[i]);
      }
    }
  };
  // The scores of a tile: all 32 columns, rows of a ScoreMatrix.
  template <int R>
  struct Scores {
    static void run(int64_t kc, const float* a, const float* b, float* to) {
      Sums<R> sums;
      accumulate<R, Transposed>(kc, a, panel_stride, b, sums);
#pragma GCC unroll 16
      for (int i = 0; i < R; ++i) {
        _mm512_store_ps(to + i * panel_stride, sums.left[i]);
        _mm512_store_ps(to + i * panel_stride + 16, sums.right[i]);
      }
    }
  };
};

// The operands of all keys of a head, packed once.
struct Keys {
  int64_t length, dim;
  float* transposed;  // k^T or v^T: [S / 32][D][32]
  float* columns;     // k or v: [D / 32][S][32]

  const float* panel_of_keys(int64_t key) const { return transposed + key * dim; }
  const float* panel_of_columns(int64_t column, int64_t key) const {
    return columns + column * length + key * tile_columns;
  }
};

int64_t size_of_transposed(int64_t length, int64_t dim) {
  return round_up(length, tile_columns) * dim;
}
int64_t size_of_columns(int64_t length, int64_t dim) {
  return round_up(dim, tile_columns) * length;
}

void pack_b_any(const GemmInput& b, int64_t j, int64_t columns, int64_t k0, int64_t kc, float* to) {
  (b.bf16 ? pack_b<Bf16> : pack_b<float>)(b, j, columns, k0, kc, to);
}

void pack_transposed(GemmInput rows, int64_t length, int64_t dim, float* to) {
  rows.transposed = true;
  for (int64_t key = 0; key < length; key += tile_columns) {
    pack_b_any(rows, key, std::min(tile_columns, length - key), 0, dim, to + key * dim);
  }
}

// Rows first .. first + count of `rows` as panels [D / 32][count][32].
void pack_columns(const GemmInput& rows, int64_t first, int64_t count, int64_t dim, int64_t panel_rows,
                  float* to) {
  for (int64_t column = 0; column < dim; column += tile_columns) {
    pack_b_any(rows, column, std::min(tile_columns, dim - column), first, count, to + column * panel_rows);
  }
}

void pack_rows(const GemmInput& rows, int64_t first, int64_t count, int64_t dim, float factor, float* to) {
  (rows.bf16 ? pack_a<Bf16> : pack_a<float>)(rows, first, count, 0, dim, to);
  if (factor == 1.0f) return;
  for (int64_t i = 0; i < count; ++i) {
    for (int64_t d = 0; d < dim; ++d) to[i * panel_stride + d] *= factor;
  }
}

void put_rows(const float* from, int64_t stride, int64_t first, int64_t count, int64_t dim,
              const GemmOutput& to) {
  for (int64_t i = 0; i < count; ++i) {
    for (int64_t d = 0; d < dim; d += 16) {
      const __mmask16 mask = first_lanes(dim - d);
      const __m512 value = load(from + i * stride + d, mask);
      const int64_t at = (first + i) * to.stride + d;
      if (to.bf16) {
        store(static_cast<Bf16*>(to.data) + at, mask, value);
      } else {
        store(static_cast<float*>(to.data) + at, mask, value);
      }
    }
  }
}

// The keys that a query sees, or that some query of a tile or block computes.
struct KeyRange {
  int64_t first, end;
};

// f(pointer, count, key) over the stretches of a matrix's row that lie side by side.
template <class F>
void over_row(const ScoreMatrix& matrix, int64_t row, const KeyRange& keys, F&& f) {
  int64_t count = 0;
  for (int64_t key = keys.first; key < keys.end; key += count) {
    count = std::min(panel_words - key % panel_words, keys.end - key);
    f(matrix.at(row, key), count, key);
  }
}

// Of 16 lanes from key `key` on, those in `keys`.
__mmask16 lanes_of(const KeyRange& keys, int64_t key) {
  return static_cast<__mmask16>(first_lanes(keys.end - key) & ~first_lanes(keys.first - key));
}

// row += the bias of the keys `seen` of a query at `position`.
template <class T>
void add_bias(const ScoreMatrix& matrix, int64_t row, const KeyRange& seen, const KeyRange& computed,
              const T* bias) {
  over_row(matrix, row, computed, [&](float* z, int64_t count, int64_t key) {
    for (int64_t i = 0; i < count; i += 16) {
      const __mmask16 mask = lanes_of(seen, key + i);
      _mm512_store_ps(z + i, _mm512_add_ps(_mm512_load_ps(z + i), load(bias + key + i, mask)));
    }
  });
}
void add_bias(const ScoreMatrix& matrix, int64_t row, int64_t position, const KeyRange& seen,
              const KeyRange& computed, const BiasRows& bias) {
  const int64_t at = position * bias.stride;
  if (bias.bf16) return add_bias(matrix, row, seen, computed, static_cast<const Bf16*>(bias.data) + at);
  add_bias(matrix, row, seen, computed, static_cast<const float*>(bias.data) + at);
}

// The keys `seen` of a query: to += row.
void add_row(const ScoreMatrix& matrix, int64_t row, const KeyRange& seen, const KeyRange& computed,
             float* to) {
  over_row(matrix, row, computed, [&](const float* d, int64_t count, int64_t key) {
    for (int64_t i = 0; i < count; i += 16) {
      const __mmask16 mask = lanes_of(seen, key + i);
      store(to + key + i, mask, _mm512_add_ps(load(to + key + i, mask), _mm512_load_ps(d + i)));
    }
  });
}

// exp(x), or with a bias, which may be -inf or far below what exponential() takes, exp(max(x, -200)), which is 0 from
// there on. A NaN stays one.
template <bool Biased>
__m512 exponential_of_score(__m512 x) {
  return exponential(Biased ? _mm512_max_ps(_mm512_set1_ps(-200.0f), x) : x);
}
// exp(-inf - shift) is 0: biases may hide all keys of a query.
float finite_or_zero(float shift) {
  return shift == -std::numeric_limits<float>::infinity() ? 0.0f : shift;
}

// Row := exp(row - max) for the keys `seen`, 0 for the others of `computed`; returns (max, sum).
// The keys computed begin and end with multiples of 16.
template <bool Biased>
std::pair<float, float> exponentials(const ScoreMatrix& matrix, int64_t row, const KeyRange& seen,
                                     const KeyRange& computed) {
  __m512 top = _mm512_set1_ps(-std::numeric_limits<float>::infinity());
  over_row(matrix, row, computed, [&](float* z, int64_t count, int64_t key) {
    for (int64_t i = 0; i < count; i += 16) {
      const __mmask16 mask = lanes_of(seen, key + i);
      top = _mm512_mask_max_ps(top, mask, top, load(z + i, mask));
    }
  });
  const float max = _mm512_reduce_max_ps(top);
  const __m512 shift = _mm512_set1_ps(Biased ? finite_or_zero(max) : max);
  __m512 total = _mm512_setzero_ps();
  over_row(matrix, row, computed, [&](float* z, int64_t count, int64_t key) {
    for (int64_t i = 0; i < count; i += 16) {
      const __mmask16 mask = lanes_of(seen, key + i);
      const __m512 value = _mm512_maskz_mov_ps(
          mask, exponential_of_score<Biased>(_mm512_sub_ps(_mm512_load_ps(z + i), shift)));
      total = _mm512_add_ps(total, value);
      _mm512_store_ps(z + i, value);
    }
  });
  return {max, _mm512_reduce_add_ps(total)};
}

// With z the scores and dp = dout v^T of a row: z := p = exp(z - lse), dp := p (dp - delta), 0 for keys
// that the query does not see.
template <bool Biased>
void score_gradients(const ScoreMatrix& scores, const ScoreMatrix& dp, int64_t row, const KeyRange& seen,
                     const KeyRange& computed, float lse, float delta) {
  const __m512 shift = _mm512_set1_ps(Biased ? finite_or_zero(lse) : lse), mean = _mm512_set1_ps(delta);
  over_row(scores, row, computed, [&](float* z, int64_t count, int64_t key) {
    float* d = dp.at(row, key);
    for (int64_t i = 0; i < count; i += 16) {
      const __mmask16 mask = lanes_of(seen, key + i);
      const __m512 p = _mm512_maskz_mov_ps(
          mask, exponential_of_score<Biased>(_mm512_sub_ps(_mm512_load_ps(z + i), shift)));
      _mm512_store_ps(z + i, p);
      const __m512 centered = _mm512_sub_ps(_mm512_load_ps(d + i), mean);
      _mm512_store_ps(d + i, _mm512_maskz_mul_ps(mask, p, centered));
    }
  });
}

struct Span {
  int64_t first, rows;  // query positions of a tile
  KeyRange keys;        // what they see, from a multiple of tile_columns on
};

KeyRange keys_of_row(const AttentionShape& shape, int64_t position) {
  const int64_t first = first_key(shape.mask, position), end = end_of_keys(shape.mask, position, shape.keys);
  return {shape.first_keys ? std::max(first, shape.first_keys[position]) : first,
          shape.key_ends ? std::min(end, shape.key_ends[position]) : end};
}
KeyRange keys_of_rows(const AttentionShape& shape, int64_t first, int64_t rows) {
  return {keys_of_row(shape, first).first / tile_columns * tile_columns,
          keys_of_row(shape, first + rows - 1).end};
}
Span span_of(const AttentionShape& shape, int64_t first, int64_t rows) {
  return {first, rows, keys_of_rows(shape, first, rows)};
}
// To whole vectors. Panels have room for them: what is beyond the last key is masked.
KeyRange whole_vectors(const KeyRange& keys) {
  return {keys.first, round_up(keys.end, 16)};
}

// matrix rows row .. += a panel of queries (or dout) times every key the span sees.
void fill_scores(const Keys& keys, const Span& span, const float* panel, const ScoreMatrix& matrix,
                 int64_t row) {
  const auto tile = by_rows<TileOf<false>::Scores>[static_cast<std::size_t>(span.rows - 1)];
  for (int64_t key = span.keys.first; key < span.keys.end; key += tile_columns) {
    tile(keys.dim, panel, keys.panel_of_keys(key), matrix.at(row, key));
  }
}

// to [rows, D] = factor * (matrix rows times keys [S, D]); 0 where the span sees no key.
void multiply_keys(const Keys& keys, const Span& span, const ScoreMatrix& matrix, int64_t row, float* to,
                   int64_t stride, const float* factor) {
  const auto tile = by_rows<TileOf<false>::With>[static_cast<std::size_t>(span.rows - 1)];
  if (span.keys.first >= span.keys.end) std::fill_n(to, span.rows * stride, 0.0f);
  for (int64_t column = 0; column < keys.dim; column += tile_columns) {
    const int64_t columns = std::min(tile_columns, keys.dim - column);
    int64_t kc = 0;
    for (int64_t key = span.keys.first; key < span.keys.end; key += kc) {
      kc = std::min(panel_words - key % panel_words, span.keys.end - key);
      tile(kc, matrix.at(row, key), keys.panel_of_columns(column, key),
           {to + column, stride, columns, key > span.keys.first}, factor);
    }
  }
}

Scratch& forward_scratch() {
  thread_local Scratch scratch;
  return scratch;
}

template <bool Biased>
void attend(const AttentionShape& shape, const AttentionHeads& in, const GemmOutput* out, float* const* lse) {
  Scratch& scratch = forward_scratch();
  const int64_t length = shape.keys, dim = shape.dim, width = round_up(dim, 16);
  const int64_t size_t_panels = size_of_transposed(length, dim), size_v = size_of_columns(length, dim);
  const int64_t panel = tile_rows * panel_stride;
  float* memory = scratch.at_least(size_t_panels + size_v + panel * shape.group + tile_rows * width +
                                   ScoreMatrix::size(tile_rows * shape.group, length));
  const Keys k{length, dim, memory, nullptr}, v{length, dim, nullptr, memory + size_t_panels};
  float* queries = v.columns + size_v;
  float* results = queries + panel * shape.group;
  const ScoreMatrix matrix{results + tile_rows * width, tile_rows * shape.group};
  pack_transposed(in.k, length, dim, k.transposed);
  pack_columns(in.v, 0, length, dim, length, v.columns);
  const RowTiles row_tiles(shape.queries);
  for (int64_t t = 0; t < row_tiles.tiles; ++t) {
    const Span span = span_of(shape, row_tiles.first(t), row_tiles.rows(t));
    const KeyRange computed = whole_vectors(span.keys);
    for (int64_t g = 0; g < shape.group; ++g) {
      pack_rows(in.q[g], span.first, span.rows, dim, shape.scale, queries + g * panel);
      fill_scores(k, span, queries + g * panel, matrix, g * tile_rows);
      float factor[tile_rows];
      for (int64_t i = 0; i < span.rows; ++i) {
        const int64_t row = g * tile_rows + i, position = span.first + i;
        const KeyRange seen = keys_of_row(shape, position);
        if constexpr (Biased) add_bias(matrix, row, position, seen, computed, in.bias[g]);
        const auto [top, total] = exponentials<Biased>(matrix, row, seen, computed);
        factor[i] = total > 0 ? 1.0f / total : 0.0f;
        lse[g][span.first + i] = top + std::log(total);
      }
      multiply_keys(v, span, matrix, g * tile_rows, results, width, factor);
      put_rows(results, width, span.first, span.rows, dim, out[g]);
    }
  }
}

}  // namespace

void attention_avx512(const AttentionShape& shape, const AttentionHeads& in, const GemmOutput* out,
                      float* const* lse) {
  in.bias != nullptr ? attend<true>(shape, in, out, lse) : attend<false>(shape, in, out, lse);
}

namespace {

// Memory of the backward, in the order of the fields.
struct Workspace {
  Keys k, v;
  float *queries, *douts;               // panels [tile][14][panel_stride] of one block
  float *query_columns, *dout_columns;  // panels [D / 32][rows][32] of one block
  float *dk, *dv;                       // [S, width]
  float* dq;                            // [14, width]
  ScoreMatrix scores, gradients;
};

// Query positions of a block: some hundred rows with the heads of the group.
int64_t positions_per_block(int64_t group) {
  return std::max<int64_t>(tile_rows, 112 / group / tile_rows * tile_rows);
}

Workspace workspace_of(const AttentionShape& shape, int64_t width, int64_t block_rows, Scratch& scratch) {
  const int64_t length = shape.keys, dim = shape.dim;
  const int64_t transposed = size_of_transposed(length, dim), columns = size_of_columns(length, dim);
  const int64_t panels = block_rows * panel_stride, block_columns = size_of_columns(block_rows, dim);
  const int64_t matrix = ScoreMatrix::size(block_rows, length);
  float* next = scratch.at_least(2 * transposed + columns + 2 * panels + 2 * block_columns +
                                 2 * length * width + tile_rows * width + 2 * matrix);
  const auto take = [&next](int64_t count) { return std::exchange(next, next + count); };
  Workspace w{};
  w.k = {length, dim, take(transposed), take(columns)};
  w.v = {length, dim, take(transposed), nullptr};
  w.queries = take(panels);
  w.douts = take(panels);
  w.query_columns = take(block_columns);
  w.dout_columns = take(block_columns);
  w.dk = take(length * width);
  w.dv = take(length * width);
  w.dq = take(tile_rows * width);
  w.scores = {take(matrix), block_rows};
  w.gradients = {take(matrix), block_rows};
  return w;
}

float dot_rows(const GemmInput& a, const GemmInput& b, int64_t row, int64_t dim) {
  __m512 total = _mm512_setzero_ps();
  const auto get = [row](const GemmInput& in, int64_t d, __mmask16 mask) {
    return in.bf16 ? load(storage_row<Bf16>(in, row) + d, mask) : load(storage_row<float>(in, row) + d, mask);
  };
  for (int64_t d = 0; d < dim; d += 16) {
    const __mmask16 mask = first_lanes(dim - d);
    total = _mm512_fmadd_ps(get(a, d, mask), get(b, d, mask), total);
  }
  return _mm512_reduce_add_ps(total);
}

// to [keys.end, D] += (matrix rows 0 .. rows)^T times columns [rows, D].
void add_to_keys(const ScoreMatrix& matrix, int64_t rows, const KeyRange& keys, const float* columns,
                 int64_t dim, float* to, int64_t width) {
  int64_t count = 0;
  for (int64_t key = keys.first; key < keys.end; key += count) {
    // A tile does not straddle two chunks of the matrix.
    count = std::min({tile_rows, keys.end - key, panel_words - key % panel_words});
    const auto tile = by_rows<TileOf<true>::With>[static_cast<std::size_t>(count - 1)];
    for (int64_t column = 0; column < dim; column += tile_columns) {
      tile(rows, matrix.at(0, key), columns + column * rows,
           {to + key * width + column, width, std::min(tile_columns, dim - column), true}, nullptr);
    }
  }
}

Scratch& backward_scratch() {
  thread_local Scratch scratch;
  return scratch;
}

template <bool Biased>
void attend_backward(const AttentionShape& shape, const AttentionHeads& in, const AttentionGradients& grads,
                     const GemmOutput* dq, const GemmOutput& dk, const GemmOutput& dv) {
  Scratch& scratch = backward_scratch();
  const int64_t length = shape.keys, dim = shape.dim, width = round_up(dim, 16);
  const int64_t positions = positions_per_block(shape.group);
  const Workspace w = workspace_of(shape, width, positions * shape.group, scratch);
  pack_transposed(in.k, length, dim, w.k.transposed);
  pack_transposed(in.v, length, dim, w.v.transposed);
  pack_columns(in.k, 0, length, dim, length, w.k.columns);
  std::fill_n(w.dk, 2 * length * width, 0.0f);
  float factor_of_dq[tile_rows];
  std::fill_n(factor_of_dq, tile_rows, shape.scale);
  for (int64_t begin = 0; begin < shape.queries; begin += positions) {
    const int64_t count = std::min(positions, shape.queries - begin), rows = count * shape.group;
    const KeyRange keys = keys_of_rows(shape, begin, count), computed = whole_vectors(keys);
    const ScoreMatrix scores{w.scores.data, rows}, gradients{w.gradients.data, rows};
    const RowTiles row_tiles(count);
    for (int64_t g = 0; g < shape.group; ++g) {
      for (int64_t t = 0; t < row_tiles.tiles; ++t) {
        const int64_t row = g * count + row_tiles.first(t);
        const Span span = span_of(shape, begin + row_tiles.first(t), row_tiles.rows(t));
        pack_rows(in.q[g], span.first, span.rows, dim, shape.scale, w.queries);
        pack_rows(grads.dout[g], span.first, span.rows, dim, 1.0f, w.douts);
        fill_scores(w.k, span, w.queries, scores, row);
        fill_scores(w.v, span, w.douts, gradients, row);
        for (int64_t i = 0; i < span.rows; ++i) {
          const int64_t position = span.first + i;
          const KeyRange seen = keys_of_row(shape, position);
          if constexpr (Biased) add_bias(scores, row + i, position, seen, computed, in.bias[g]);
          score_gradients<Biased>(scores, gradients, row + i, seen, computed, grads.lse[g][position],
                                  dot_rows(grads.out[g], grads.dout[g], position, dim));
          if (Biased && grads.dbias != nullptr)
            add_row(gradients, row + i, seen, computed, grads.dbias[g] + position * grads.bias_stride);
        }
        multiply_keys(w.k, span, gradients, row, w.dq, width, factor_of_dq);
        put_rows(w.dq, width, span.first, span.rows, dim, dq[g]);
      }
    }
    for (int64_t column = 0; column < dim; column += tile_columns) {
      const int64_t columns = std::min(tile_columns, dim - column);
      for (int64_t g = 0; g < shape.group; ++g) {
        const int64_t at = column * rows + g * count * tile_columns;
        pack_b_any(in.q[g], column, columns, begin, count, w.query_columns + at);
        pack_b_any(grads.dout[g], column, columns, begin, count, w.dout_columns + at);
      }
    }
    add_to_keys(scores, rows, keys, w.dout_columns, dim, w.dv, width);
    add_to_keys(gradients, rows, keys, w.query_columns, dim, w.dk, width);
  }
  for (int64_t i = 0; i < length * width; ++i) w.dk[i] *= shape.scale;
  put_rows(w.dk, width, 0, length, dim, dk);
  put_rows(w.dv, width, 0, length, dim, dv);
}

}  // namespace

void attention_backward_avx512(const AttentionShape& shape, const AttentionHeads& in,
                               const AttentionGradients& grads, const GemmOutput* dq, const GemmOutput& dk,
                               const GemmOutput& dv) {
  in.bias != nullptr ? attend_backward<true>(shape, in, grads, dq, dk, dv)
                     : attend_backward<false>(shape, in, grads, dq, dk, dv);
}

}  // namespace d9d::kernels
