#pragma once
// What linear cross entropy holds in memory at once: its blocks take their sizes from here, and `check` counts them by
// the same functions. No torch.

#include <cstdint>

#include "kernels/ops/place.hpp"

namespace d9d::kernels {

struct LossShape {
  int64_t tokens = 0;  // all of them; labels that do not count make everything smaller but one copy
  int64_t hidden_size = 0;
  int64_t vocabulary = 0;  // rows of all ranks' tables
  int64_t rows = 0;        // of this rank's tables
  int64_t bytes = 4;       // of a number of hidden states and tables: 2, 4 or 8
  bool of_part = false;    // ranks share the vocabulary
  bool bias = false;
  bool gradient = true;  // of hidden or of a table is wanted
};

// The logits that exist at once: of so many tokens and columns, in sum_dtype. `rounded`: columns of their gradient
// that exist beside them in the type of hidden; 0: none.
struct HeldLogits {
  int64_t tokens = 0, columns = 0, rounded = 0;
  bool by_columns = false;  // columns.hpp, better for a long vocabulary; else blocks.hpp
};
HeldLogits held_logits(Place place, const LossShape& shape);
// Columns that so many tokens are worked on at a time: more of them for the last, fewer tokens, in the same memory.
int64_t columns_for(int64_t tokens);

// Bytes at most, beside hidden [T, H], the tables and their gradients. `parts`: ranks that share the vocabulary.
struct LossBytes {
  // Of hidden where some label does not count: until backward, which needs hidden itself no more.
  int64_t copy = 0;
  int64_t kept = 0;                   // from forward to backward
  int64_t forward = 0, backward = 0;  // beside both, for a while
};
LossBytes loss_bytes(Place place, const LossShape& shape, int parts = 1);

}  // namespace d9d::kernels
