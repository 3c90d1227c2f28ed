#pragma once
// Masked or full softmax attention of one key head and the query heads that share it, on AVX-512. No torch
// (see table.hpp). Scores exist for a block of some hundred query rows at a time.

#include <cstdint>

#include "kernels/attention/attention_mask.hpp"
#include "kernels/cpu/loops/gemm_avx512.hpp"

namespace d9d::kernels {

struct AttentionShape {
  int64_t queries;
  int64_t keys;
  int64_t dim;    // D, at most panel_words
  int64_t group;  // query heads that share the key head
  AttentionMask mask;
  float scale;
  // [queries], ascending: of the mask's keys those in [first_keys, key_ends) are seen. Null: no such limit.
  const int64_t* first_keys = nullptr;
  const int64_t* key_ends = nullptr;
};

// Of one query head: key j of query i gets element i * stride + j added to its score. Elements are finite or -inf.
struct BiasRows {
  const void* data;  // fp32 or bf16
  int64_t stride;    // 0: all queries share a row; negative in a bias by distance
  bool bf16;
};

// One key head and its query heads; storage row i is token i.
// Outputs are fp32 or bf16, [tokens, D] with rows `stride` apart.
struct AttentionHeads {
  const GemmInput* q;  // [group]
  GemmInput k, v;
  const BiasRows* bias = nullptr;  // [group]; null: none
};

// out_g = softmax(scale q_g k^T) v; lse_g [queries] = log of the softmax's denominator. Of a query that sees
// no key: 0, and -inf.
void attention_avx512(const AttentionShape& shape, const AttentionHeads& in, const GemmOutput* out,
                      float* const* lse);

struct AttentionGradients {
  // [group]. out and lse are the forward's results over all keys of the queries, not only those of this block:
  // the block's share of the gradients then follows from the block alone.
  const GemmInput* out;
  const GemmInput* dout;  // [group]
  const float* const* lse;
  // [group]: those of the biases are added to element i * bias_stride + j. Null: not wanted.
  float* const* dbias = nullptr;
  int64_t bias_stride = 0;
};

// dq [group], dk, dv [keys, D] fp32 or bf16, overwritten (dk and dv summed over the group).
void attention_backward_avx512(const AttentionShape& shape, const AttentionHeads& in,
                               const AttentionGradients& grads, const GemmOutput* dq, const GemmOutput& dk,
                               const GemmOutput& dv);

}  // namespace d9d::kernels
