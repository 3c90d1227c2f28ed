#pragma once
// Root mean square normalisation (Zhang and Sennrich 2019, eq. 4) and layer normalisation without a bias (Ba et al.
// 2016, arXiv 1607.06450, eq. 3), computed in fp32 for every dtype.
//   rms_norm    y = x / sqrt(mean(x^2) + eps) * weight          zero_centered: ... * (1 + weight)
//   layer_norm  y = (x - mean(x)) / sqrt(mean((x - mean(x))^2) + eps) * weight
// x [.., W] fp32, bf16 or fp64; weight [W] of the same dtype; y as x. The weight gradient is summed in fp32
// in a fixed order, so it does not change from run to run.

#include <ATen/core/Tensor.h>

#include <tuple>

namespace d9d::kernels {

at::Tensor rms_norm(const at::Tensor& x, const at::Tensor& weight, double eps, bool zero_centered = false);

// sum = x + residual, normed = rms_norm(sum), in one pass -> (normed, sum). If `residual` is undefined,
// the sum is x itself, without a copy. The gradients of both outputs are then added in the same order as
// with a residual, so the numbers do not depend on the place of the addition.
std::tuple<at::Tensor, at::Tensor> add_rms_norm(const at::Tensor& x, const at::Tensor& residual,
                                                const at::Tensor& weight, double eps,
                                                bool zero_centered = false);

// The same for layer_norm.
at::Tensor layer_norm(const at::Tensor& x, const at::Tensor& weight, double eps);
std::tuple<at::Tensor, at::Tensor> add_layer_norm(const at::Tensor& x, const at::Tensor& residual,
                                                  const at::Tensor& weight, double eps);

}  // namespace d9d::kernels
