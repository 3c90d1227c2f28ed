#pragma once
// Activation checkpointing (Chen et al. 2016, arXiv 1604.06174): keep the input of a segment, compute the
// segment again in backward.

#include <ATen/core/Tensor.h>

#include <functional>
#include <vector>

namespace d9d {

// `recompute` is false in the forward pass and true when backward runs the segment again.
using Segment = std::function<std::vector<at::Tensor>(const at::Tensor& x, bool recompute)>;

// segment(x, false), each output differentiable in x and in every parameter the segment uses; between forward
// and backward only x is kept. The segment must be deterministic and outlive the backward pass. Parameter
// gradients are added to their grad() when backward passes, through the WeightWork that was current in
// forward where there was one; they are not returned by torch::autograd::grad.
std::vector<at::Tensor> checkpointed(Segment segment, const at::Tensor& x);

}  // namespace d9d
