#include "runtime/nn/model/unit_hook.hpp"

#include <c10/core/GradMode.h>
#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/functions/utils.h>

#include "kernels/graph/node_pointer.hpp"

namespace d9d {
namespace {

using torch::autograd::variable_list;
using Call = void (UnitHook::*)();

class Boundary final : public torch::autograd::Node {
 public:
  Boundary(std::shared_ptr<UnitHook> hook, Call call) : hook_(std::move(hook)), call_(call) {}
  std::string name() const override { return "d9d::unit"; }

 private:
  variable_list apply(variable_list&& grads) override {
    (hook_.get()->*call_)();
    return std::move(grads);
  }

  std::shared_ptr<UnitHook> hook_;
  Call call_;
};

std::vector<at::Tensor> through(std::vector<at::Tensor> tensors, const std::shared_ptr<UnitHook>& hook,
                                Call on_backward) {
  if (!at::GradMode::is_enabled()) return tensors;
  bool wanted = false;
  for (const at::Tensor& tensor : tensors) wanted |= tensor.defined() && tensor.requires_grad();
  if (!wanted) return tensors;
  const auto node = kernels::make_node<Boundary>(hook, on_backward);
  for (at::Tensor& tensor : tensors) {
    if (!tensor.defined() || !tensor.requires_grad()) continue;
    node->add_next_edge(torch::autograd::impl::gradient_edge(tensor));
    // A new tensor over the same memory: set_history() on the given one would cut it off its own graph.
    at::Tensor same = tensor.detach();
    torch::autograd::set_history(same, node);
    tensor = std::move(same);
  }
  return tensors;
}

}  // namespace

std::vector<at::Tensor> Unit::enter(std::vector<at::Tensor> tensors, bool recompute) const {
  if (!hook) return tensors;
  hook->before_forward(recompute);
  return through(std::move(tensors), hook, &UnitHook::after_backward);
}

std::vector<at::Tensor> Unit::leave(std::vector<at::Tensor> tensors, bool recompute) const {
  if (!hook) return tensors;
  hook->after_forward(recompute);
  return through(std::move(tensors), hook, &UnitHook::before_backward);
}

}  // namespace d9d
