#pragma once
// Products of row groups with the matrices of their expert, without autograd. Internal to kernels/.

#include <ATen/core/Tensor.h>

namespace d9d::kernels {

// out rows of expert e = in rows of e times weight[e]^T (weight [E, N, K]), or times weight[e] when not
// transposed.
void grouped_product(const at::Tensor& out, const at::Tensor& in, const at::Tensor& weight,
                     const at::Tensor& offsets, bool transposed, double beta = 0);

// into[e] = grad_e^T in_e + beta * into[e].   grad [R, N], in [R, K], into [E, N, K]
void grouped_weight_gradient(const at::Tensor& into, const at::Tensor& grad, const at::Tensor& in,
                             const at::Tensor& offsets, double beta);

}  // namespace d9d::kernels
