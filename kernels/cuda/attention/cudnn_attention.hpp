#pragma once
// cuDNN's attention through ATen, for bfloat16 on GPUs of compute capability 9.0 and newer: there it is faster than
// FlashAttention 2. D9D_CUDA_ATTENTION=flash, or at::globalContext().setSDPUseCuDNN(false), leaves all to that.

#include <ATen/core/Tensor.h>

#include <optional>

#include "kernels/ops/attention_ops.hpp"

namespace d9d::cuda {

// Heads that FlashAttention takes. See kernels/ops/attention_ops.hpp; results are bfloat16. Nothing where cuDNN does
// not compute a call: a window, blocks of a causal mask, lengths that are no multiples of 128, wide heads, strict
// determinism, or what it refused once, which the log says.
std::optional<kernels::AttentionBlock> cudnn_attention(const at::Tensor& q, const at::Tensor& k,
                                                       const at::Tensor& v,
                                                       const kernels::AttentionMask& mask, double scale);
// Of the forward of either.
std::optional<kernels::AttentionBlockGradients> cudnn_attention_backward(
    const at::Tensor& grad, const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
    const kernels::AttentionBlock& forward, const kernels::AttentionMask& mask, double scale);

}  // namespace d9d::cuda
