#pragma once
// Finds tensors that a backward reaches and that are not known: a model computes with them but did not
// register them as parameters, so they are neither trained nor saved. Needs torch.

#include <ATen/core/Tensor.h>

#include <vector>

#include "kernels/graph/node_pointer.hpp"

namespace d9d {

// Returns the unknown leaves of the graph of `roots`, in the order of a walk from the roots.
std::vector<at::Tensor> other_leaves(const std::vector<kernels::NodePointer<torch::autograd::Node>>& roots,
                                     const std::vector<at::Tensor>& known);

}  // namespace d9d
