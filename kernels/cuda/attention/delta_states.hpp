#pragma once
// The state that goes from chunk to chunk of the gated delta rule, and its gradient that goes back: all chunks in one
// launch. Names are those of delta_shape.hpp.

#include "kernels/cuda/launch.hpp"

namespace d9d::cuda {

// For each chunk c, in order, or from the last one to the first:
//   states[c] = S
//   values[c] = base[c] + reads[c] S
//   S = kept[c] S + writes[c]^T values[c] + added[c]
// S begins as 0. Matrices are dense but for their rows' stride, chunk after chunk of all heads.
struct DeltaStates {
  std::int64_t chunks = 0, heads = 0;  // heads: of all sequences
  int tokens = 0, dk = 0, dv = 0;      // n, Dk, Dv
  bool backward = false;
  const float* base = nullptr;    // [chunks, heads, tokens, dv]
  const float* reads = nullptr;   // [chunks, heads, tokens, dk]
  const float* writes = nullptr;  // [chunks, heads, tokens, dk]
  const float* added = nullptr;   // [chunks, heads, dk, dv], dense; null: nothing
  const float* kept = nullptr;    // [chunks, heads, tokens]: the last number of a chunk
  std::int64_t base_stride = 0, reads_stride = 0, writes_stride = 0, values_stride = 0;
  float* states = nullptr;  // [chunks, heads, dk, dv]
  float* values = nullptr;  // [chunks, heads, tokens, dv]
};
int delta_states(const DeltaStates& call, CUstream_st* stream);

// Whether eight columns of state and values fit a block's shared memory: keys of 1024 elements do in chunks of 96
// tokens.
bool fits_delta_states(std::int64_t tokens, std::int64_t dk);

}  // namespace d9d::cuda
