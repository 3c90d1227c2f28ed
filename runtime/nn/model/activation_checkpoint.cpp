#include "runtime/nn/model/activation_checkpoint.hpp"

#include <torch/csrc/autograd/autograd.h>
#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/functions/utils.h>
#include <torch/csrc/autograd/saved_variable.h>

#include "kernels/weight_work.hpp"
#include "runtime/base/error.hpp"

namespace d9d {
namespace {

using torch::autograd::variable_list;

class RecomputeSegment final : public torch::autograd::Node {
 public:
  RecomputeSegment(Segment segment, const at::Tensor& x)
      : segment_(std::move(segment)), x_(x, /*is_output=*/false), work_(kernels::WeightWork::current()) {
    set_next_edges(torch::autograd::collect_next_edges(x));
  }

  void release_variables() override {
    x_.reset_data();
    released_ = true;
  }

 private:
  variable_list apply(variable_list&& grads) override {
    D9D_CHECK(!released_,
              "a checkpointed segment was run backward twice; its input is gone after the first time");
    if (!grads[0].defined()) return {at::Tensor()};
    const kernels::WeightWork::Scope scope(work_);
    const at::AutoGradMode on(true);
    const at::Tensor x = x_.unpack(shared_from_this()).detach().requires_grad_(task_should_compute_output(0));
    const at::Tensor y = segment_(x, true);
    torch::autograd::backward({y}, {grads[0]});
    return {x.grad()};
  }

  Segment segment_;
  torch::autograd::SavedVariable x_;
  c10::intrusive_ptr<kernels::WeightWork> work_;
  bool released_ = false;
};

}  // namespace

at::Tensor checkpointed(Segment segment, const at::Tensor& x) {
  if (!at::GradMode::is_enabled()) return segment(x, false);
  at::Tensor y;
  {
    const at::NoGradGuard off;
    y = segment(x, false).detach();
  }
  std::shared_ptr<torch::autograd::Node> node(new RecomputeSegment(std::move(segment), x),
                                              torch::autograd::deleteNode);
  torch::autograd::set_history(y, node);
  return y;
}

}  // namespace d9d
