#include "runtime/pipeline/watch/other_leaves.hpp"

#include <torch/csrc/autograd/function.h>

#include <unordered_set>

#include "kernels/graph/leaf_node.hpp"

namespace d9d {

std::vector<at::Tensor> other_leaves(const std::vector<kernels::NodePointer<torch::autograd::Node>>& roots,
                                     const std::vector<at::Tensor>& known) {
  std::unordered_set<const c10::TensorImpl*> tensors;
  for (const at::Tensor& tensor : known) tensors.insert(tensor.unsafeGetTensorImpl());
  std::vector<at::Tensor> others;
  std::unordered_set<torch::autograd::Node*> seen;
  std::vector<torch::autograd::Node*> open;
  const auto visit = [&](torch::autograd::Node* node) {
    if (node != nullptr && seen.insert(node).second) open.push_back(node);
  };
  for (const auto& root : roots) visit(root.get());
  while (!open.empty()) {
    torch::autograd::Node* const node = open.back();
    open.pop_back();
    if (const at::Tensor* const leaf = kernels::leaf_of(*node)) {
      if (!tensors.contains(leaf->unsafeGetTensorImpl())) others.push_back(*leaf);
    }
    for (const auto& edge : node->next_edges()) visit(edge.function.get());
  }
  return others;
}

}  // namespace d9d
