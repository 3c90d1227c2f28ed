#pragma once
// The gates of a gated delta net's heads at each token (Yang, Kautz and Hatamizadeh 2024, arXiv 2412.06464, sections
// 3.1 and 3.4). gates [.., Hk, 2 g]: for each key head b of its g value heads, then a.
//   beta = sigmoid(b): how strongly the delta rule writes
//   decay: the logarithm of the share of its state that a head keeps,
//     -exp(log_rate) * softplus(a + bias)   (Mamba 2, Dao and Gu 2024, arXiv 2405.21060, section 7)
// gates, log_rate and bias [Hk g] fp32, bf16 or fp64 -> decay and beta [.., Hk g] in fp32, or fp64 for fp64. The
// gradients of log_rate and bias are summed in a fixed order.

#include <ATen/core/Tensor.h>

#include "kernels/ops/recurrent_ops.hpp"

namespace d9d::kernels {

DeltaGates delta_gates(const at::Tensor& gates, const at::Tensor& log_rate, const at::Tensor& bias);

// The same with a decay without parameters (gated linear attention, Yang et al. 2023, arXiv 2312.06635, section 4.4):
// logsigmoid(a) / normalizer.
DeltaGates logsigmoid_gates(const at::Tensor& gates, double normalizer);

}  // namespace d9d::kernels
