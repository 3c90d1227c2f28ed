#pragma once
// One backward pass, whole or in two halves: first the gradients of activations (action I), later those of
// weights (action W), as in Qi et al. 2023, Zero Bubble Pipeline Parallelism (arXiv 2401.10241, section 2).
//
// Ops of kernels/ queue the work on their weights (weight_work.hpp). For other ops the graph is cut. The
// main path are the nodes that gradients pass on their way to the inputs. A node of the main path may
// also have edges to weights, or to values that are computed from weights alone. It then runs in both
// halves: in the first without these edges, in the second with only these edges, from the gradient that
// it got in the first.
// Together both halves compute the products of a whole backward, except that ops which compute several
// gradients at once (attention with learned keys) repeat some. Tensors that only the first half needs
// are freed during it.
//
// The first half computes the gradients of weights that cannot wait: those of nodes that always
// compute all their gradients (a torch::autograd::Function, a write into a view), and leaves that
// `work` does not know.

#include <ATen/core/Tensor.h>
#include <torch/csrc/autograd/edge.h>

#include <vector>

#include "kernels/graph/node_pointer.hpp"
#include "kernels/graph/weight_work.hpp"

namespace d9d::kernels {

struct BackwardRoot {
  torch::autograd::Edge edge;
  at::Tensor gradient;
};

// Adds the gradients of all leaves below the roots to their grad(), and frees the graph. Do not use the
// graph again. If `work` (may be null) is deferred, gradients of the leaves that it knows
// (WeightWork::set_leaves) are submitted to it instead. `inputs`: leaves whose gradients are needed now.
void run_backward(const std::vector<BackwardRoot>& roots, at::TensorList inputs, WeightWork* work);

}  // namespace d9d::kernels
