#pragma once
// Attention sinks: a learned logit of each query head takes mass in its softmax and has no value (as in gpt-oss; after
// Xiao et al. 2023, arXiv 2309.17453). With sink b and log-sum-exp l of the keys alone: l' = log(e^l + e^b),
// out' = out e^(l - l'). From out' and l' the backward of attention gives the gradients of queries, keys and values.

#include <ATen/core/Tensor.h>

#include "kernels/ops/attention_ops.hpp"

namespace d9d::kernels {

// sinks [H] in fp32, bf16 or fp64 -> the same in fp32, or fp64, for attention(). The gradient is weight work.
at::Tensor sink_logits(const at::Tensor& sinks);

// Both for logits [Hq] of sink_logits(), and a block whose out and lse are fp32, or fp64. Writes to the block; it may
// hold queries that see no key.
void add_sinks(const AttentionBlock& block, const at::Tensor& logits);
// Their gradient: -sum over tokens of e^(b - l') (dout . out'). `forward` has the sinks. No autograd.
at::Tensor sink_gradient(const at::Tensor& grad, const AttentionBlock& forward, const at::Tensor& logits);

}  // namespace d9d::kernels
