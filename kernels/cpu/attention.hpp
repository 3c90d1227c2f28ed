#pragma once
// Causal or full softmax attention of one key head and the query heads that share it, on AVX-512. No torch
// (see table.hpp). Scores exist for a block of some hundred query rows at a time.

#include <cstdint>

#include "kernels/cpu/gemm.hpp"

namespace d9d::kernels {

struct AttentionShape {
  int64_t queries;
  int64_t keys;
  int64_t dim;    // D, at most gemm_depth
  int64_t group;  // query heads that share the key head
  bool causal;    // query i sees keys 0..i; needs queries == keys
  float scale;
};

// One head of each group member: storage row = token. Outputs
// are fp32 or bf16, [tokens, D] with rows `stride` apart.
struct AttentionHeads {
  const GemmInput* q;  // [group]
  GemmInput k, v;
};

// out_g = softmax(scale q_g k^T) v; lse_g [queries] = log of the softmax's denominator.
void attention_avx512(const AttentionShape& shape, const AttentionHeads& in, const GemmOutput* out,
                      float* const* lse);

struct AttentionGradients {
  // [group], of the forward over all keys, these and others: a block's share of the gradients is that of all
  // keys as long as out and lse are.
  const GemmInput* out;
  const GemmInput* dout;  // [group]
  const float* const* lse;
};

// dq [group], dk, dv [keys, D] fp32 or bf16, overwritten (dk and dv summed over the group).
void attention_backward_avx512(const AttentionShape& shape, const AttentionHeads& in,
                               const AttentionGradients& grads, const GemmOutput* dq, const GemmOutput& dk,
                               const GemmOutput& dv);

}  // namespace d9d::kernels
