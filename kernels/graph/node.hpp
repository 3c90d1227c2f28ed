#pragma once
// The base of every op's backward. Its state is typed fields and not AutogradContext's dictionary, because an op
// of a small model costs a few microseconds and the dictionary alone is one of them. Internal to kernels/; the
// same for all devices.

#include <ATen/core/LegacyTypeDispatch.h>
#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/functions/utils.h>
#include <torch/csrc/autograd/saved_variable.h>

#include "kernels/graph/saving_place.hpp"
#include "kernels/graph/weight_work.hpp"

namespace d9d::kernels {

using Gradients = torch::autograd::variable_list;
// Writes (beta 0) or adds (beta 1) a weight gradient.
using WeightGradient = std::function<void(const at::Tensor& into, double beta)>;

class BackwardNode : public torch::autograd::Node {
 public:
  Gradients apply(Gradients&& grads) final;
  void release_variables() override;

  // Edges to the inputs, in the order of the entries backward() returns; remembers the current WeightWork.
  void connect(at::TensorList inputs);
  // Where the thread's SavingPlace wants them, else in the graph.
  void save(at::TensorList tensors);
  // Saves an output of this node; set_history must have attached it before.
  void save_output(const at::Tensor& output);

  // True if the gradient of `weight` is to be added to weight.grad() by weight work.
  bool is_direct(const at::Tensor& weight) const;
  // True if the gradients of weights that are not direct can be computed in a run of their own, at no price.
  virtual bool runs_in_halves() const { return false; }

 protected:
  // `grads` has one entry per output, undefined for an output without gradient.
  virtual Gradients backward(Gradients grads) = 0;

  at::Tensor saved(std::size_t index);
  bool wants(std::size_t input) const { return task_should_compute_output(input); }
  // What backward returns for a weight: undefined if its gradient is not wanted or was submitted as weight work.
  // `reads`: computing the gradient reads the weight's values.
  at::Tensor weight_gradient(std::size_t input, const at::Tensor& weight, WeightGradient compute,
                             bool reads = false);

  c10::intrusive_ptr<WeightWork> work_;

 private:
  struct Saved {
    torch::autograd::SavedVariable variable;
    bool is_output = false;
    bool is_elsewhere = false;
    std::unique_ptr<SavedElsewhere> elsewhere = nullptr;
  };
  bool save_elsewhere(const at::Tensor& tensor);
  std::vector<Saved> saved_;
};

// A node when some input wants a gradient, else null.
template <class N>
std::shared_ptr<N> node_for(at::TensorList inputs) {
  if (!c10::GradMode::is_enabled()) return nullptr;
  for (const auto& input : inputs) {
    if (!input.defined() || !input.requires_grad()) continue;
    std::shared_ptr<N> node(new N, torch::autograd::deleteNode);
    node->connect(inputs);
    return node;
  }
  return nullptr;
}

// Ops call ATen under this guard: no graph, no view tracking, less dispatch.
using BelowAutograd = at::AutoDispatchBelowADInplaceOrView;

}  // namespace d9d::kernels
