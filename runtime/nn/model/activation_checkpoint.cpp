#include "runtime/nn/model/activation_checkpoint.hpp"

#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/functions/utils.h>
#include <torch/csrc/autograd/saved_variable.h>

#include <algorithm>

#include "kernels/graph/node_pointer.hpp"
#include "kernels/graph/split_backward.hpp"
#include "runtime/base/error.hpp"
#include "runtime/tensor/microbatch_scope.hpp"

namespace d9d {
namespace {

using torch::autograd::variable_list;

class RecomputeSegment final : public torch::autograd::Node {
 public:
  RecomputeSegment(Segment segment, const at::Tensor& x, std::unique_ptr<kernels::KeptResults> kept)
      : segment_(std::move(segment)),
        x_(x, /*is_output=*/false),
        kept_(std::move(kept)),
        work_(kernels::WeightWork::current()),
        place_(MicrobatchScope::current()) {
    set_next_edges(torch::autograd::collect_next_edges(x));
  }

  void release_variables() override {
    x_.reset_data();
    kept_.reset();
    released_ = true;
  }

 private:
  variable_list apply(variable_list&& grads) override {
    D9D_CHECK(!released_,
              "a checkpointed segment was run backward twice; its input is gone after the first time");
    const auto given = [](const at::Tensor& grad) { return grad.defined(); };
    if (std::none_of(grads.begin(), grads.end(), given)) return {at::Tensor()};
    const kernels::WeightWork::Scope scope(work_);
    const MicrobatchScope same_noise(place_);
    const at::AutoGradMode on(true);
    const at::Tensor x = x_.unpack(getptr()).detach().requires_grad_(task_should_compute_output(0));
    const std::vector<at::Tensor> all = run_again(x);
    std::vector<kernels::BackwardRoot> roots;
    for (std::size_t i = 0; i < grads.size(); ++i) {
      if (!grads[i].defined() || !all[i].requires_grad()) continue;
      roots.push_back({torch::autograd::impl::gradient_edge(all[i]), grads[i]});
    }
    if (roots.empty()) return {at::Tensor()};  // the segment is frozen, and what is below it
    kernels::run_backward(roots, x.requires_grad() ? at::TensorList(x) : at::TensorList(), work_.get());
    return {x.grad()};
  }

  std::vector<at::Tensor> run_again(const at::Tensor& x) {
    const kernels::KeptResults::Scope taking(*kept_, /*again=*/true);
    std::vector<at::Tensor> outputs = segment_(x, true);
    kept_->require_all_taken();
    return outputs;
  }

  Segment segment_;
  torch::autograd::SavedVariable x_;
  std::unique_ptr<kernels::KeptResults> kept_;
  c10::intrusive_ptr<kernels::WeightWork> work_;
  const MicrobatchPlace place_;
  bool released_ = false;
};

}  // namespace

std::vector<at::Tensor> checkpointed(Segment segment, const at::Tensor& x, const kernels::KeptKinds& keeps) {
  if (!at::GradMode::is_enabled()) return segment(x, false);
  auto kept = std::make_unique<kernels::KeptResults>(keeps);
  std::vector<at::Tensor> outputs;
  {
    const at::NoGradGuard off;
    const kernels::KeptResults::Scope recording(*kept, /*again=*/false);
    for (const at::Tensor& y : segment(x, false)) outputs.push_back(y.detach());
  }
  const auto node = kernels::make_node<RecomputeSegment>(std::move(segment), x, std::move(kept));
  for (at::Tensor& y : outputs) torch::autograd::set_history(y, node);
  return outputs;
}

}  // namespace d9d
