#pragma once
// The ops of recurrent token mixers (delta_rule.hpp, short_convolution.hpp, delta_gates.hpp) that each
// device implements. Their callers have checked shapes and dtypes. Results are contiguous.

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <vector>

#include "kernels/ops/op.hpp"

namespace d9d::kernels {

// What is convolved at once: one to convolved_max tensors [B, S, H, W], alike but for W, each with a dense last
// dimension. The weights of the channels of x[i] are rows first[i] .. first[i] + H W of weight [C, 1, K].
inline constexpr std::size_t convolved_max = 4;
struct ConvolutionInputs {
  std::vector<at::Tensor> x;
  std::vector<int64_t> first;
};
// One tensor for each of them, of its sizes.
struct ConvolutionParts {
  std::vector<at::Tensor> of;
};
struct ConvolutionGradients {
  std::vector<at::Tensor> dx;    // as x, contiguous
  std::vector<at::Tensor> dsum;  // in sum_dtype: the gradients of the arguments of silu, contiguous
};

struct DeltaGates {
  at::Tensor decay, beta;  // [.., Hk g] in sum_dtype
};
struct DeltaGateGradients {
  at::Tensor dgates;            // as gates, contiguous
  at::Tensor dlog_rate, dbias;  // [Hk g] in sum_dtype; undefined without these parameters
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
  // Results are contiguous.
  Op<ConvolutionParts(const ConvolutionInputs& in, const at::Tensor& weight)> short_convolution{
      "short_convolution"};
  Op<ConvolutionGradients(const ConvolutionParts& dy, const ConvolutionInputs& in, const at::Tensor& weight)>
      short_convolution_dx{"short_convolution_dx"};
  // The same rows of into [C, 1, K] = sum over tokens of dsum * x + beta into, in an order that depends
  // only on shapes. With beta 0 the other rows become zero.
  Op<void(const ConvolutionParts& dsum, const ConvolutionInputs& in, const at::Tensor& into, double beta)>
      short_convolution_dw{"short_convolution_dw"};

  // gates [.., Hk, 2 g], log_rate and bias [Hk g], or undefined: then the decay is a logsigmoid over `normalizer`.
  Op<DeltaGates(const at::Tensor& gates, const at::Tensor& log_rate, const at::Tensor& bias,
                double normalizer)>
      delta_gates{"delta_gates"};
  // beta: the result.
  Op<DeltaGateGradients(const at::Tensor& ddecay, const at::Tensor& dbeta, const at::Tensor& gates,
                        const at::Tensor& beta, const at::Tensor& log_rate, const at::Tensor& bias,
                        double normalizer)>
      delta_gates_backward{"delta_gates_backward"};

  // q, k [B, S, Hk, Dk], v [B, S, Hv, Dv], decay and beta [B, S, Hv] in sum_dtype -> [B, S, Hv, Dv].
  Op<at::Tensor(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, const at::Tensor& decay,
                const at::Tensor& beta, const DeltaRuleOptions& options)>
      delta_rule{"delta_rule"};
  Op<DeltaRuleGradients(const at::Tensor& grad, const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                        const at::Tensor& decay, const at::Tensor& beta, const DeltaRuleOptions& options)>
      delta_rule_backward{"delta_rule_backward"};
};

}  // namespace d9d::kernels
