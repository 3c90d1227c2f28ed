#pragma once
// The logarithm of the share of its state that a recurrent head keeps at a token (Mamba 2, Dao and Gu
// 2024, arXiv 2405.21060, section 7; used by Yang et al. 2024, arXiv 2412.06464):
//   -exp(log_rate[h]) * softplus(a[.., h] + bias[h])
// a [.., H], log_rate and bias [H] fp32, bf16 or fp64 -> [.., H] in fp32, or fp64 for fp64. The gradients of
// log_rate and bias are summed in a fixed order.

#include <ATen/core/Tensor.h>

namespace d9d::kernels {

at::Tensor decay_gate(const at::Tensor& a, const at::Tensor& log_rate, const at::Tensor& bias);

// The same without parameters (gated linear attention, Yang et al. 2023, arXiv 2312.06635, section 4.4):
// logsigmoid(a) / normalizer.
at::Tensor logsigmoid_gate(const at::Tensor& a, double normalizer);

}  // namespace d9d::kernels
