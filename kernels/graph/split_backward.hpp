#pragma once
// One backward pass, whole or in two halves: first the gradients of activations (action I), later those of
// weights (action W), as in Qi et al. 2023, Zero Bubble Pipeline Parallelism (arXiv 2401.10241, section 2).
//
// Ops of kernels/ queue the work on their weights (weight_work.hpp). For ops that know nothing of it the graph
// is cut. The main path are the nodes that gradients pass on their way to the inputs. Where a weight, or
// something that is computed from weights alone, joins it, the node runs in both halves: in the first without
// the edges to the weights, in the second with nothing but them, from the gradient that it got in the first.
// The products of both are those of a whole backward (but for ops that make several gradients in one go, as
// attention with learned keys does), and what only the first half needs is freed as that goes on.
//
// Left to the first half are the weights of nodes that compute all their gradients at once, whatever is asked
// for (a torch::autograd::Function, a write into a view), and leaves that `work` does not know.

#include <ATen/core/Tensor.h>
#include <torch/csrc/autograd/edge.h>

#include <vector>

#include "kernels/graph/weight_work.hpp"

namespace d9d::kernels {

struct BackwardRoot {
  torch::autograd::Edge edge;
  at::Tensor gradient;
};

// Adds the gradients of all leaves below the roots to their grad(), and frees the graph. If `work` (may be null)
// is deferred, gradients of the leaves that it knows (WeightWork::set_leaves) are submitted to it instead.
// `inputs`: leaves whose gradients are wanted now. The graph is not to be used again.
void run_backward(const std::vector<BackwardRoot>& roots, at::TensorList inputs, WeightWork* work);

}  // namespace d9d::kernels
