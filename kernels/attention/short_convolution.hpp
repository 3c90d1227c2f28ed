#pragma once
// Causal depthwise convolution over the last K tokens with SiLU, as before the delta rule (Yang et al. 2024,
// arXiv 2412.06464, section 3.4):
//   y[t, c] = silu(sum over j < K of weight[c, 0, j] * x[t - K + 1 + j, c]), x = 0 before the first token
// for all inputs at once: tensors [B, S, H, W], alike but for W. The H W channels of x[i] use rows first[i] ..
// first[i] + H W of weight [C, 1, K]; the other rows belong to other calls. Heads may be strided views with a dense
// last dimension. fp32, bf16 or fp64, sums in fp32 (fp64 for fp64) -> a tensor [B, S, H, W] for each input, contiguous.

#include <ATen/core/Tensor.h>

#include <vector>

#include "kernels/ops/recurrent_ops.hpp"

namespace d9d::kernels {

std::vector<at::Tensor> short_convolution(const ConvolutionInputs& in, const at::Tensor& weight);

// Of one input.
at::Tensor short_convolution(const at::Tensor& x, const at::Tensor& weight, int64_t first);

}  // namespace d9d::kernels
