#pragma once
// Attention of queries that see their keys in several blocks, as ranks that share a sequence do: each block
// by itself, results merged by the logarithms of their softmax denominators (online softmax; Dao et al. 2022,
// algorithms 1 and 2; blockwise merging: Liu et al. 2023, arXiv 2310.01889). No graph; shapes and dtypes of
// the inputs as attention.hpp has them, but queries and keys may differ in length.

#include <ATen/core/Tensor.h>

namespace d9d::kernels {

struct AttentionBlock {
  at::Tensor out;  // [B, Sq, Hq, Dv]
  at::Tensor lse;  // log of the softmax's denominator, [B, Hq, Sq], fp64 for fp64 inputs, else fp32
};

// Softmax attention of q [B, Sq, Hq, D] over k [B, Sk, Hkv, D] and v [B, Sk, Hkv, Dv]; `out` in `dtype`: that
// of q, or the wider fp32 where blocks are to be merged. causal: query i sees keys 0..i, Sq equals Sk.
AttentionBlock attention_block(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, bool causal,
                               double scale, at::ScalarType dtype);

struct AttentionBlockGradients {
  at::Tensor dq, dk, dv;
};
// This block's share of the gradients; `forward` is the result over all blocks.
// The shares of a query's blocks add up to its gradient, and so do those of a
// key's. In `dtype`, as above. `grad` and forward.out in any floating dtype.
AttentionBlockGradients attention_block_backward(const at::Tensor& grad, const at::Tensor& q,
                                                 const at::Tensor& k, const at::Tensor& v,
                                                 const AttentionBlock& forward, bool causal, double scale,
                                                 at::ScalarType dtype);

// into := attention over the keys of both. Views are fine; out and lse are fp32 or fp64 alike.
void merge_attention_block(const AttentionBlock& into, const AttentionBlock& block);

}  // namespace d9d::kernels
