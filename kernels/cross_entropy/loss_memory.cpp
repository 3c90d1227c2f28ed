#include "kernels/cross_entropy/loss_memory.hpp"

#include <algorithm>

namespace d9d::kernels {
namespace {

// On the CPU the logits of a block should stay in the second-level cache between the product, the softmax and the two
// products after it, but fewer than 64 rows would make these products slow. A GPU gets 2.5 GiB of logits in fp32: its
// products are fast only from some thousand rows on, and each block reads and writes the whole gradient of the
// vocabulary. The whole vocabulary counts, so that all ranks that share it have the same blocks and call `gather`
// equally often.
int64_t rows_at_once(Place place, int64_t vocabulary) {
  const int64_t per_row = std::max<int64_t>(1, vocabulary);
  if (place == Place::gpu) return std::clamp<int64_t>((int64_t{5} << 27) / per_row / 128 * 128, 128, 8192);
  return std::clamp<int64_t>((int64_t{1} << 22) / per_row, 64, 512);
}

constexpr int64_t tokens_by_columns = 512;
constexpr int64_t logits_by_columns = int64_t{1} << 20;
constexpr int64_t columns_min = 1024, columns_max = 8192;
// How many columns of the logits' gradient the CPU rounds and multiplies at once.
constexpr int64_t columns_rounded = 8192;

// Allocators of devices give each tensor whole pieces of 512 bytes.
constexpr int64_t of_rounding = 16 * 512;

int64_t bytes_of_sums(const LossShape& shape) {
  return std::max<int64_t>(4, shape.bytes);
}

}  // namespace

int64_t columns_for(int64_t tokens) {
  return std::clamp(logits_by_columns / std::max<int64_t>(1, tokens), columns_min, columns_max);
}

HeldLogits held_logits(Place place, const LossShape& shape) {
  const bool rounds = shape.gradient && shape.bytes < bytes_of_sums(shape);
  // The blocks of a GPU have some thousand tokens, which is as good.
  if (!shape.of_part && !shape.bias && place != Place::gpu && shape.vocabulary > 64 * columns_min) {
    const int64_t tokens = std::min(tokens_by_columns, shape.tokens);
    const int64_t columns = columns_for(tokens);
    return {tokens, columns, rounds ? columns : 0, true};
  }
  const int64_t tokens = std::min(rows_at_once(place, shape.vocabulary), shape.tokens);
  // A device writes whole rows of the gradient in the type of its products. The CPU rounds columns that stay in its
  // cache.
  const int64_t rounded = place == Place::cpu ? std::min(columns_rounded, shape.rows) : shape.rows;
  return {tokens, shape.rows, rounds ? rounded : 0, false};
}

// The names are those of linear_cross_entropy.cpp, blocks.cpp and columns.cpp.
LossBytes loss_bytes(Place place, const LossShape& shape, int parts) {
  const HeldLogits held = held_logits(place, shape);
  const int64_t sums = bytes_of_sums(shape), tokens = shape.tokens;
  const int64_t state = tokens * shape.hidden_size;
  const bool rounds = shape.bytes < sums;
  LossBytes all;
  // index and labels of the tokens that count; softmax of all parts.
  const int64_t of_tokens = tokens * (2 * 8 + (shape.of_part ? 2 * sums : 0));
  all.kept = tokens * sums;  // the loss of all tokens
  // The loss of the tokens that count; logits.
  all.forward = tokens * sums + held.tokens * (held.columns * sums + held.rounded * shape.bytes);
  // Numbers of each token of a block; of the softmax's statistics those of all parts, and once more to join them.
  all.forward +=
      held.tokens * sums * ((held.by_columns ? 16 : 4) + (shape.of_part ? 3 * (1 + 2 * parts) : 0));
  if (shape.gradient) {
    all.copy = state * shape.bytes;
    all.kept += of_tokens + state * sums + (shape.bias ? shape.rows * sums : 0);  // dhidden, dbias
    // scaled, in sum_dtype and then in that of hidden; the CPU makes hidden wide for it. The labels' rows, which come
    // by columns, need no more.
    const int64_t wide = !rounds ? sums : place == Place::cpu ? 2 * sums : sums + shape.bytes;
    all.forward += held.tokens * shape.hidden_size * wide;
    // The upstream gradient and scale; dhidden times it, rounded, and spread over all tokens.
    all.backward = 2 * tokens * sums + state * (sums + (rounds ? shape.bytes : 0) + shape.bytes);
  } else {
    all.forward += of_tokens + state * shape.bytes;
  }
  if (place == Place::cpu) return all;
  all.kept += of_rounding, all.forward += of_rounding, all.backward += of_rounding;
  return all;
}

}  // namespace d9d::kernels
