#pragma once
// Softmax attention over keys that come in several blocks, for ranks that share a sequence. Each block is
// computed alone. Results are merged by the logarithms of their softmax denominators (online softmax: Dao
// et al. 2022, algorithms 1 and 2; blockwise merging: Liu et al. 2023, arXiv 2310.01889). No autograd.
// Shapes and dtypes of the inputs are those of attention.hpp, but queries and keys may differ in length.

#include <ATen/core/Tensor.h>

#include "kernels/ops/attention_ops.hpp"

namespace d9d::kernels {

// Softmax attention of q [B, Sq, Hq, D] over k [B, Sk, Hkv, D] and v [B, Sk, Hkv, Dv]. `out` has `dtype`:
// q's, or fp32 if blocks are to be merged.
// Every query must see at least one key of `mask`. With visible keys (VisibleKeys) or a bias (ScoreBias) it may see
// none: then out is 0 and lse -inf. A bias is that of this block's queries and keys.
AttentionBlock attention_block(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                               const AttentionMask& mask, double scale, at::ScalarType dtype,
                               const VisibleKeys& visible = {}, const ScoreBias& bias = {});

// Returns this block's share of the gradients, in `dtype`. `forward` is the merged result over all
// blocks. The gradient of a query or a key is the sum of the shares of its blocks. `grad` and forward.out
// may have any floating dtype. With `bias.wants_gradient` dbias is this block's, in sum_dtype.
AttentionBlockGradients attention_block_backward(const at::Tensor& grad, const at::Tensor& q,
                                                 const at::Tensor& k, const at::Tensor& v,
                                                 const AttentionBlock& forward, const AttentionMask& mask,
                                                 double scale, at::ScalarType dtype,
                                                 const VisibleKeys& visible = {}, const ScoreBias& bias = {});

// into := attention over the keys of both blocks. Tensors may be views. out and lse have one dtype, fp32
// or fp64. A query may have seen no key of one block, or of both.
void merge_attention_block(const AttentionBlock& into, const AttentionBlock& block);

}  // namespace d9d::kernels
