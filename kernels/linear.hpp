#pragma once
// Dense layers. fp32, bf16 and fp64; products of bf16 are summed in fp32. x and weight share a dtype.
// Weight and bias gradients go through the current WeightWork.

#include <ATen/core/Tensor.h>

#include <optional>
#include <vector>

namespace d9d::kernels {

// y[..., n] = sum_k x[..., k] weight[n, k] + bias[n].   x [.., K], weight [N, K], bias [N] -> [.., N]
at::Tensor linear(const at::Tensor& x, const at::Tensor& weight, const std::optional<at::Tensor>& bias = {});

// Several weights [N_i, K] on one x: the same numbers as one linear each. Weights that follow each other in
// memory are multiplied as one; the results are then views of one buffer (row stride = sum of the N_i).
// `biases` is empty or has one entry per weight, undefined where that weight has none.
std::vector<at::Tensor> linear_multi(const at::Tensor& x, at::TensorList weights, at::TensorList biases = {});

}  // namespace d9d::kernels
