#include "kernels/graph/leaf_node.hpp"

#include <torch/csrc/autograd/functions/accumulate_grad.h>

namespace d9d::kernels {

const at::Tensor* leaf_of(const torch::autograd::Node& node) {
  const auto* const adds = dynamic_cast<const torch::autograd::AccumulateGrad*>(&node);
  return adds == nullptr ? nullptr : &adds->variable;
}

}  // namespace d9d::kernels
