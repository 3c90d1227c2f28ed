#pragma once
// Dropout (Srivastava et al. 2014): sets a share p of the elements to zero and multiplies the others by
// 1 / (1 - p). The noise is a function of job, step, microbatch, rank (MicrobatchScope), name and
// element, so a resume repeats it.

#include <ATen/core/Tensor.h>

#include <string_view>

namespace d9d {

// x: any shape and floating dtype. `name`: the layer's name. 0 <= p < 1. Differentiable.
at::Tensor dropout(const at::Tensor& x, double p, std::string_view name);

}  // namespace d9d
