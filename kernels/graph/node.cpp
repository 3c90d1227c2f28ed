#include "kernels/graph/node.hpp"

#include <ATen/ops/empty_like.h>

namespace d9d::kernels {

Gradients BackwardNode::apply(Gradients&& grads) {
  TORCH_CHECK(!c10::GradMode::is_enabled(), name(),
              " has no second derivative; run backward without create_graph");
  BelowAutograd below;
  return backward(std::move(grads));
}

void BackwardNode::release_variables() {
  for (auto& entry : saved_) {
    entry.variable.reset_data();
    entry.elsewhere.reset();
  }
}

void BackwardNode::connect(at::TensorList inputs) {
  work_ = WeightWork::current();
  for (const auto& input : inputs) {
    const bool wanted = input.defined() && input.requires_grad();
    add_next_edge(wanted ? torch::autograd::impl::gradient_edge(input) : torch::autograd::Edge());
  }
}

void BackwardNode::save(at::TensorList tensors) {
  const bool elsewhere = SavingPlace::current() != nullptr;
  for (const auto& tensor : tensors) {
    if (!elsewhere || !save_elsewhere(tensor))
      saved_.push_back({torch::autograd::SavedVariable(tensor, false)});
  }
}

void BackwardNode::save_output(const at::Tensor& output) {
  if (!save_elsewhere(output)) saved_.push_back({torch::autograd::SavedVariable(output, true), true});
}

bool BackwardNode::save_elsewhere(const at::Tensor& tensor) {
  SavingPlace* const place = SavingPlace::current();
  if (place == nullptr) return false;
  std::unique_ptr<SavedElsewhere> elsewhere = place->take(tensor);
  if (!elsewhere) return false;
  saved_.push_back({torch::autograd::SavedVariable(), false, true, std::move(elsewhere)});
  return true;
}

at::Tensor BackwardNode::saved(std::size_t index) {
  auto& entry = saved_[index];
  if (entry.is_elsewhere) {
    TORCH_CHECK(entry.elsewhere, name(), " runs backward a second time, and what it saved is gone");
    return entry.elsewhere->get();
  }
  return entry.variable.unpack(entry.is_output ? getptr() : nullptr);
}

bool BackwardNode::is_direct(const at::Tensor& weight) const {
  return work_ && weight.is_leaf() && weight.requires_grad() && weight.grad().defined();
}

at::Tensor BackwardNode::weight_gradient(std::size_t input, const at::Tensor& weight, WeightGradient compute,
                                         bool reads) {
  if (!weight.defined() || !wants(input)) return {};
  if (is_direct(weight)) {
    work_->submit(
        {weight}, [weight, compute = std::move(compute)] { compute(weight.grad(), 1); }, reads);
    return {};
  }
  at::Tensor gradient = at::empty_like(weight, weight.options().requires_grad(false));
  compute(gradient, 0);
  return gradient;
}

at::Tensor BackwardNode::weight_gradient(std::size_t input, const at::Tensor& weight,
                                         const at::Tensor& made) {
  return weight_gradient(input, weight,
                         [made](const at::Tensor& into, double beta) { put(made, into, beta); });
}

void put(const at::Tensor& value, const at::Tensor& into, double beta) {
  beta == 0 ? into.copy_(value) : into.add_(value);
}

}  // namespace d9d::kernels
