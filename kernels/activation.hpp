#pragma once

#include <ATen/core/Tensor.h>

namespace d9d::kernels {

// silu(gate) * up with silu(g) = g / (1 + exp(-g)) in fp32, cast to the dtype before the product.
// gate and up: [.., I] of one shape and dtype (fp32, bf16, fp64), rows may be strided. The result is
// contiguous. Backward keeps only the two inputs.
at::Tensor silu_mul(const at::Tensor& gate, const at::Tensor& up);
// The same with gelu(g) = 0.5 g (1 + tanh(sqrt(2 / pi) (g + 0.044715 g^3))) (Hendrycks and Gimpel 2016, arXiv
// 1606.08415, section 2) instead of silu.
at::Tensor gelu_mul(const at::Tensor& gate, const at::Tensor& up);
// The same with gelu(g) = 0.5 g (1 + erf(g / sqrt(2))), which that formula approximates.
at::Tensor gelu_erf_mul(const at::Tensor& gate, const at::Tensor& up);
// The gated unit of gpt-oss: (u + 1) g sigmoid(alpha g) with g = min(gate, limit) and u = up within +-limit, in fp32,
// cast to the dtype at the end. gate_up [.., 2 I] holds gate and up in turns -> [.., I]. A value at its bound
// still has a gradient, as in torch before 2.15. Composed of ATen's ops on every device. Backward keeps only gate_up.
at::Tensor clamped_swiglu(const at::Tensor& gate_up, double alpha, double limit);

}  // namespace d9d::kernels
