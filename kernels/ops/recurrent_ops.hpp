#pragma once
// The ops of recurrent token mixers (delta_rule.hpp, short_convolution.hpp, decay_gate.hpp) that each
// device implements. Their callers have checked shapes and dtypes. Results are contiguous.

#include <ATen/core/Tensor.h>

#include "kernels/ops/op.hpp"

namespace d9d::kernels {

struct ConvolutionGradient {
  at::Tensor dx;    // as x, contiguous
  at::Tensor dsum;  // [B, S, H, W] in sum_dtype: the gradient of the argument of silu
};

struct DecayGradients {
  at::Tensor da;                // as a, contiguous
  at::Tensor dlog_rate, dbias;  // [H] in sum_dtype
};

// Queries and keys are normed as x / sqrt(|x|^2 + delta_norm_eps).
inline constexpr double delta_norm_eps = 1e-6;

struct DeltaRuleOptions {
  double scale = 1;        // of the queries
  bool normalise = false;  // divide queries and keys by their length first
  int64_t chunk = 64;      // tokens that are computed at once
};

struct DeltaRuleGradients {
  at::Tensor dq, dk, dv;     // as q, k, v, contiguous
  at::Tensor ddecay, dbeta;  // [B, S, Hv] in sum_dtype
};

struct RecurrentOps {
  // x [B, S, H, W] with a dense last dimension -> [B, S, H, W]. The weights of its channels are rows
  // first .. first + H W of weight [C, 1, K].
  Op<at::Tensor(const at::Tensor& x, const at::Tensor& weight, int64_t first)> short_convolution{
      "short_convolution"};
  Op<ConvolutionGradient(const at::Tensor& dy, const at::Tensor& x, const at::Tensor& weight, int64_t first)>
      short_convolution_dx{"short_convolution_dx"};
  // The same rows of into [C, 1, K] = sum over tokens of dsum * x + beta into, in an order that depends
  // only on shapes. With beta 0 the other rows become zero.
  Op<void(const at::Tensor& dsum, const at::Tensor& x, const at::Tensor& into, int64_t first, double beta)>
      short_convolution_dw{"short_convolution_dw"};

  // a [.., H], log_rate and bias [H] -> [.., H] in sum_dtype.
  Op<at::Tensor(const at::Tensor& a, const at::Tensor& log_rate, const at::Tensor& bias)> decay_gate{
      "decay_gate"};
  Op<DecayGradients(const at::Tensor& grad, const at::Tensor& a, const at::Tensor& log_rate,
                    const at::Tensor& bias)>
      decay_gate_backward{"decay_gate_backward"};

  // q, k [B, S, Hk, Dk], v [B, S, Hv, Dv], decay and beta [B, S, Hv] in sum_dtype -> [B, S, Hv, Dv].
  Op<at::Tensor(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, const at::Tensor& decay,
                const at::Tensor& beta, const DeltaRuleOptions& options)>
      delta_rule{"delta_rule"};
  Op<DeltaRuleGradients(const at::Tensor& grad, const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                        const at::Tensor& decay, const at::Tensor& beta, const DeltaRuleOptions& options)>
      delta_rule_backward{"delta_rule_backward"};
};

}  // namespace d9d::kernels
