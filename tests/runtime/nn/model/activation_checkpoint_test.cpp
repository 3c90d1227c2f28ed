// A segment that is computed again in a split backward leaves its weights to the second half.
#include "runtime/nn/model/activation_checkpoint.hpp"

#include <ATen/TensorOperators.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/tanh.h>
#include <ATen/ops/zeros_like.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/variable.h>

#include "kernels/graph/split_backward.hpp"
#include "kernels/linear.hpp"
#include "tests/support/gradcheck.hpp"

namespace d9d::test {
namespace {

using kernels::WeightWork;

class CheckpointedSplit : public testing::Test {
 protected:
  void SetUp() override {
    for (std::size_t i = 0; i < weights_.size(); ++i) {
      weights_[i] = values({6, 6}, 10 + i).requires_grad_();
      weights_[i].mutable_grad() = at::zeros_like(weights_[i]);
    }
  }
  // Torch's op, one of ours, and one that is used outside, too.
  Tensors segment(const at::Tensor& x) const {
    const at::Tensor h = at::tanh(at::linear(x, weights_[0]));
    return {h + kernels::linear(h, weights_[1]), at::linear(h, weights_[2])};
  }
  at::Tensor model(const at::Tensor& x, bool keeps_all) const {
    const Segment run = [this](const at::Tensor& in, bool /*recompute*/) { return segment(in); };
    const Tensors first = keeps_all ? segment(x) : checkpointed(run, x);
    const at::Tensor between = at::linear(first[0] + first[1], weights_[2]);
    const Tensors second = keeps_all ? segment(between) : checkpointed(run, between);
    return second[0] * second[1];
  }
  // The work of the second half is left to do.
  Tensors run(WeightWork::Mode mode, bool keeps_all) {
    for (const at::Tensor& weight : weights_) weight.grad().zero_();
    work_ = c10::make_intrusive<WeightWork>(mode);
    auto leaves = std::make_shared<WeightWork::Leaves>();
    for (const at::Tensor& weight : weights_) leaves->insert(weight.unsafeGetTensorImpl());
    work_->set_leaves(std::move(leaves));
    const WeightWork::Scope scope(work_);
    const at::Tensor x = values({4, 6}, 1).requires_grad_();
    const at::Tensor y = model(x, keeps_all);
    kernels::run_backward({{torch::autograd::impl::gradient_edge(y), values({4, 6}, 2)}}, {x}, work_.get());
    return gradients(x);
  }
  Tensors gradients(const at::Tensor& x) const {
    Tensors all{x.grad()};
    for (const at::Tensor& weight : weights_) all.push_back(weight.grad().clone());
    return all;
  }

  std::array<at::Tensor, 3> weights_;
  c10::intrusive_ptr<WeightWork> work_;
};

TEST_F(CheckpointedSplit, LeavesTheWeightsOfItsSegmentsToTheSecondHalf) {
  const Tensors kept = run(WeightWork::Mode::now, /*keeps_all=*/true);
  const Tensors whole = run(WeightWork::Mode::now, /*keeps_all=*/false);

  const Tensors half = run(WeightWork::Mode::deferred, /*keeps_all=*/false);
  work_->set_mode(WeightWork::Mode::now);
  work_->run_queued();

  EXPECT_TRUE(half[0].equal(whole[0]));
  expect_close(whole[0], kept[0], 1e-14, "gradient of the input");
  for (std::size_t i = 0; i < weights_.size(); ++i) {
    EXPECT_EQ(half[1 + i].abs().sum().item<double>(), 0) << "weight " << i << " after the first half";
    // The uses of the weight that is used outside, too, are added up in another order.
    expect_close(weights_[i].grad(), whole[1 + i], i == 2 ? 1e-14 : 0, "gradient of a weight in halves");
    expect_close(whole[1 + i], kept[1 + i], 1e-14, "gradient of a weight");
  }
}

}  // namespace
}  // namespace d9d::test
