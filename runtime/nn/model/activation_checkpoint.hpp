#pragma once
// Activation checkpointing (Chen et al. 2016, arXiv 1604.06174): keeps only the input of a segment, and if asked
// the results of its costly ops, and computes the rest of the segment again in backward.

#include <ATen/core/Tensor.h>

#include <functional>
#include <vector>

#include "kernels/graph/kept_results.hpp"

namespace d9d {

// `recompute` is false in the forward pass and true when backward runs the segment again.
using Segment = std::function<std::vector<at::Tensor>(const at::Tensor& x, bool recompute)>;

// Returns segment(x, false), differentiable in x and in every parameter that the segment uses. Only x and the
// results of `keeps` (kernels/graph/kept_results.hpp) are kept between forward and backward. The segment must be
// deterministic, and everything that it refers to must outlive the backward pass. Backward adds gradients of
// parameters to their grad(), through the WeightWork that was current in forward, if any; torch::autograd::grad
// does not return them.
std::vector<at::Tensor> checkpointed(Segment segment, const at::Tensor& x,
                                     const kernels::KeptKinds& keeps = {});

}  // namespace d9d
