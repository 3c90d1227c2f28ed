#pragma once
// AdamW on bf16 parameters with fp32 arithmetic and stochastic rounding (OPT-01 .. OPT-04).

#include <ATen/core/Tensor.h>

#include "kernels/ops/optimizer_ops.hpp"

namespace d9d::kernels {

// Updates a block of a tensor once (Loshchilov and Hutter 2019, algorithm 2) and zeroes the gradient.
// Buffers are flat, contiguous, of one length: param bf16, grad fp32 or bf16, both moments fp32 or both
// bf16. The noise that rounds to bf16 depends only on the position of the element in the tensor, so every
// mesh and every device computes the same bits. No autograd.
void stochastic_adamw_step(const at::Tensor& param, const at::Tensor& grad, const at::Tensor& exp_avg,
                           const at::Tensor& exp_avg_sq, const AdamWSettings& settings,
                           const RoundingNoise& noise);

}  // namespace d9d::kernels
