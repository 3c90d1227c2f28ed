#include "runtime/nn/model/hidden_states.hpp"

#include <ATen/ops/cat.h>
#include <ATen/ops/div.h>
#include <ATen/ops/mul.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/zeros.h>
#include <c10/core/GradMode.h>
#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/functions/utils.h>

#include <limits>

#include "kernels/graph/node_pointer.hpp"
#include "runtime/base/error.hpp"

namespace d9d {
namespace {

using torch::autograd::variable_list;

class Bound final : public torch::autograd::Node {
 public:
  std::string name() const override { return "d9d::bound_together"; }
  void add(const at::Tensor& tensor) {
    add_next_edge(torch::autograd::impl::gradient_edge(tensor));
    sizes_.push_back(tensor.sizes().vec());
    options_.push_back(tensor.options().requires_grad(false));
  }

 private:
  variable_list apply(variable_list&& grads) override {
    for (std::size_t i = 0; i < grads.size(); ++i) {
      if (!grads[i].defined()) grads[i] = at::zeros(sizes_[i], options_[i]);
    }
    return std::move(grads);
  }

  std::vector<std::vector<std::int64_t>> sizes_;
  std::vector<at::TensorOptions> options_;
};

}  // namespace

HiddenStateAggregator::HiddenStateAggregator(HiddenStateSummary mode, const TensorMap& shared,
                                             const ActivationShards& tokens)
    : tokens_(tokens) {
  if (mode == HiddenStateSummary::no) return;
  const auto mask = shared.find("hidden_states_agg_mask");
  D9D_REQUIRE(mask != shared.end() && mask->second.dim() == 2,
              "model_provider.hidden_states is mean, but the task gives no hidden_states_agg_mask [batch, "
              "sequence] among its shared inputs; add it, or set hidden_states to no");
  const at::Tensor all = mask->second.to(at::kFloat);
  mask_ = tokens_.split(all).unsqueeze(-1);
  count_ = all.sum(1, true).clamp_min(std::numeric_limits<float>::min());
}

void HiddenStateAggregator::add(const at::Tensor& hidden) {
  if (!wanted()) return;
  D9D_REQUIRE(mask_.sizes().slice(0, 2) == hidden.sizes().slice(0, 2),
              "hidden_states_agg_mask is of {} tokens a rank, the hidden states of {}", mask_.numel(),
              hidden.size(0) * hidden.size(1));
  const at::Tensor wide = hidden.scalar_type() == at::kDouble ? hidden : hidden.to(at::kFloat);
  // collect() and not a sum over ranks: all ranks of tensor parallelism compute the same from its result.
  const at::Tensor shares = tokens_.collect(at::mul(wide, mask_).sum(1, true));
  means_.push_back(at::div(shares.sum(1), count_));
}

at::Tensor HiddenStateAggregator::pack_with_snapshot(const at::Tensor& earlier) const {
  const at::Tensor own = at::stack(means_);
  return earlier.defined() ? at::cat({earlier, own}) : own;
}

std::vector<at::Tensor> bound_together(std::vector<at::Tensor> tensors) {
  if (!at::GradMode::is_enabled()) return tensors;
  const auto node = kernels::make_node<Bound>();
  for (at::Tensor& tensor : tensors) {
    if (!tensor.requires_grad()) continue;
    node->add(tensor);
    at::Tensor same = tensor.detach();
    torch::autograd::set_history(same, node);
    tensor = std::move(same);
  }
  return tensors;
}

}  // namespace d9d
