#pragma once
// The gated delta rule (Yang, Kautz and Hatamizadeh 2024, arXiv 2412.06464, eq. 10): per value head a state
// S [Dk, Dv], zero before the first token, and for each token
//   S = exp(decay) S;  S = S + k (beta (v - S^T k))^T;  out = S^T (scale q)
// computed chunk by chunk with matrix products (section 3.3 of the paper). With `normalise` queries and keys are
// first divided by sqrt(|x|^2 + 1e-6). Value head h reads query and key head h / (Hv / Hk).
//
// q, k [B, S, Hk, Dk], v [B, S, Hv, Dv], all fp32, bf16 or fp64; decay (at most 0) and beta [B, S, Hv] fp32, or
// fp64 for fp64 -> [B, S, Hv, Dv] as v. States and sums are fp32, or fp64. The size of the chunks changes
// only the order of sums.

#include <ATen/core/Tensor.h>

#include "kernels/ops/recurrent_ops.hpp"

namespace d9d::kernels {

at::Tensor gated_delta_rule(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                            const at::Tensor& decay, const at::Tensor& beta, const DeltaRuleOptions& options);

}  // namespace d9d::kernels
