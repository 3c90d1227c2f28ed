#pragma once
// Dense layers. fp32, bf16 and fp64; products of bf16 are summed in fp32. x and weight share a dtype.
// Weight and bias gradients go through the current WeightWork.

#include <ATen/core/Tensor.h>

#include <optional>
#include <vector>

namespace d9d::kernels {

// A low-rank term of a linear: scale (x a^T) b^T, with a [r, K], b [N, r] (LoRA, arXiv 2106.09685,
// section 4.1). It is added directly to the product and to the gradient of x, without a temporary of
// their size. x a^T is rounded to x's dtype. `a` undefined: no term.
struct LowRankTerm {
  at::Tensor a, b;
  double scale = 1;
};

// y[..., n] = sum_k x[..., k] weight[n, k] + bias[n] + term.   x [.., K], weight [N, K], bias [N] -> [.., N]
at::Tensor linear(const at::Tensor& x, const at::Tensor& weight, const std::optional<at::Tensor>& bias = {},
                  const LowRankTerm& term = {});

// Multiplies one x by several weights [N_i, K]. The numbers are those of one linear() for each. Weights
// that follow each other in memory are multiplied as one matrix; the results are then views of one buffer
// (row stride = sum of the N_i). Where the gradients of the results are columns of one matrix, too (kernels/rows.hpp;
// those of qk_norm_rope with values, and of silu_mul on GPUs), the gradient of x is one product, with one rounding, and
// weight work adds up those of the weights by one product if their gradients follow each other.
// `biases` and `terms`: empty, or one entry per weight, undefined if that weight has none.
std::vector<at::Tensor> linear_multi(const at::Tensor& x, at::TensorList weights, at::TensorList biases = {},
                                     const std::vector<LowRankTerm>& terms = {});

}  // namespace d9d::kernels
