#pragma once
// Attention of torch's products and softmax, for what no attention of a library can do: float32, bands between ranks,
// documents in one row, odd heads, biases. Scores of 256 queries at a time are kept.

#include "kernels/ops/attention_ops.hpp"

namespace d9d::cuda {

// See kernels/ops/attention_ops.hpp.
kernels::AttentionBlock composed_attention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                                           const kernels::AttentionMask& mask, double scale,
                                           at::ScalarType dtype, const kernels::VisibleKeys& visible,
                                           const kernels::ScoreBias& bias);
kernels::AttentionBlockGradients composed_attention_backward(
    const at::Tensor& grad, const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
    const kernels::AttentionBlock& forward, const kernels::AttentionMask& mask, double scale,
    at::ScalarType dtype, const kernels::VisibleKeys& visible, const kernels::ScoreBias& bias);

}  // namespace d9d::cuda
