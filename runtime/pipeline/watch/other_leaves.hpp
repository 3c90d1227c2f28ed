#pragma once
// Which tensors a backward comes to beside those that are known: what a model computes with and never registered as its
// parameters, so that it is neither trained nor saved. Needs torch.

#include <ATen/core/Tensor.h>

#include <memory>
#include <vector>

namespace torch::autograd {
struct Node;
}

namespace d9d {

// Of the graph behind `roots`, in the order in which it is walked from them.
std::vector<at::Tensor> other_leaves(const std::vector<std::shared_ptr<torch::autograd::Node>>& roots,
                                     const std::vector<at::Tensor>& known);

}  // namespace d9d
