#pragma once
// Where a block of the gated delta rule's kernels works.

#include "kernels/cuda/attention/delta_shape.hpp"
#include "kernels/cuda/sums.cuh"

namespace d9d::cuda {

constexpr int delta_threads = 256, delta_warps = delta_threads / 32;

// A chunk of a key head: matrix = (chunk * sequences + sequence) * key_heads + key head.
struct DeltaPlace {
  std::int64_t first_row;  // of tensors [sequences, length, key_heads]
  std::int64_t row_step;   // from a token to the next one
  int there;               // tokens of the chunk that the sequence has

  __device__ DeltaPlace(const DeltaShape& shape, std::int64_t matrix) {
    const std::int64_t heads = shape.sequences * shape.key_heads, head = matrix % heads;
    const std::int64_t first = matrix / heads * shape.tokens, left = shape.length - first;
    there = left < shape.tokens ? static_cast<int>(left) : shape.tokens;
    row_step = shape.key_heads;
    first_row = (head / shape.key_heads * shape.length + first) * row_step + head % shape.key_heads;
  }
  // Of queries and keys; those of the head's values are its multiples by the group, and the next ones.
  __device__ std::int64_t row(int token) const { return first_row + token * row_step; }
};

}  // namespace d9d::cuda
