#pragma once
// The sizes that the kernels of the gated delta rule share. Names and formulas are those of
// kernels/cpu/delta_heads.cpp: a chunk of n tokens of a head has
//   G, the running sums of its decays, kept = exp(G), to_end = exp(G_n - G), D_ij = exp(G_i - G_j)
//   N = -strictly lower(diag(beta) K K^T * D), P = lower(Q K^T * D), T = (1 - N)^-1
//   X = [beta V, -beta exp(G) K], Y = T X
// (Yang, Kautz and Hatamizadeh 2024, arXiv 2412.06464, section 3.3).

#include "kernels/cuda/launch.hpp"

namespace d9d::cuda {

// Tensors of heads are dense: [sequences, length, key_heads, dk], [sequences, length, key_heads group, dv], and numbers
// [sequences, length, key_heads group]. Tensors of chunks are fp32 and dense: [M, tokens, ..] of key heads, with M =
// chunks sequences key_heads, and [M, group, tokens, ..] of value heads. What a sequence lacks to its last chunk's end
// are zeros there, which change no state.
struct DeltaShape {
  std::int64_t sequences = 0, length = 0, key_heads = 0, chunks = 0;
  int group = 1;   // value heads of a key head
  int tokens = 0;  // n, of a chunk
  int dk = 0, dv = 0;

  std::int64_t key_matrices() const { return chunks * sequences * key_heads; }
  std::int64_t value_matrices() const { return key_matrices() * group; }
};

}  // namespace d9d::cuda
