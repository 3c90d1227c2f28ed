#pragma once
// Base class of every op's backward. Its state is in typed fields instead of AutogradContext's
// dictionary, because an op of a small model takes a few microseconds and the dictionary alone one of
// them. Internal to kernels/; the same for all devices.

#include <ATen/core/LegacyTypeDispatch.h>
#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/functions/utils.h>
#include <torch/csrc/autograd/saved_variable.h>

#include "kernels/graph/node_pointer.hpp"
#include "kernels/graph/saving_place.hpp"
#include "kernels/graph/weight_work.hpp"

namespace d9d::kernels {

using Gradients = torch::autograd::variable_list;
// Writes (beta 0) or adds (beta 1) a weight gradient.
using WeightGradient = std::function<void(const at::Tensor& into, double beta)>;
// into := value + beta into, for a beta of 0 or 1.
void put(const at::Tensor& value, const at::Tensor& into, double beta);

class BackwardNode : public torch::autograd::Node {
 public:
  Gradients apply(Gradients&& grads) final;
  void release_variables() override;

  // Adds edges to the inputs, in the order of the entries that backward() returns.
  // Remembers the current WeightWork.
  void connect(at::TensorList inputs);
  // Saves tensors for backward() in the thread's SavingPlace, or in the graph if that does not take them.
  void save(at::TensorList tensors);
  // Saves an output of this node; set_history must have attached it before.
  void save_output(const at::Tensor& output);

  // Whether weight work adds the gradient of `weight` to weight.grad().
  bool is_direct(const at::Tensor& weight) const;
  // Whether the gradients of weights that are not direct can be computed in a separate run,
  // at no extra cost.
  virtual bool runs_in_halves() const { return false; }

 protected:
  // `grads` has one entry per output, undefined for an output without gradient.
  virtual Gradients backward(Gradients grads) = 0;

  at::Tensor saved(std::size_t index);
  bool wants(std::size_t input) const { return task_should_compute_output(input); }
  // Returns the entry of backward()'s result for a weight: its gradient, or undefined if the
  // gradient is not wanted or was submitted as weight work. `reads`: computing the gradient
  // reads the weight's values.
  at::Tensor weight_gradient(std::size_t input, const at::Tensor& weight, WeightGradient compute,
                             bool reads = false);
  // The same of a gradient that is made already, in any dtype.
  at::Tensor weight_gradient(std::size_t input, const at::Tensor& weight, const at::Tensor& made);

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

// Returns a node that is connected to the inputs, or null if no input needs a gradient.
template <class N>
NodePointer<N> node_for(at::TensorList inputs) {
  if (!c10::GradMode::is_enabled()) return nullptr;
  for (const auto& input : inputs) {
    if (!input.defined() || !input.requires_grad()) continue;
    NodePointer<N> node = make_node<N>();
    node->connect(inputs);
    return node;
  }
  return nullptr;
}

// Ops call ATen under this guard. It turns off the graph and view tracking, and dispatches faster.
using BelowAutograd = at::AutoDispatchBelowADInplaceOrView;

}  // namespace d9d::kernels
