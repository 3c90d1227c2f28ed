#pragma once
// The leaves of autograd's graph. LibTorch's header of their nodes costs the compiler seconds, so one source has it.

#include <ATen/core/Tensor.h>

namespace torch::autograd {
struct Node;
}

namespace d9d::kernels {

// The leaf into whose gradient the node adds; null for every other node. Lives as long as the node.
const at::Tensor* leaf_of(const torch::autograd::Node& node);

}  // namespace d9d::kernels
