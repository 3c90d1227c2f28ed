#include "kernels/graph/weight_work.hpp"

#include <ATen/Functions.h>
#include <gtest/gtest.h>

#include <thread>

#include "kernels/attention/rope.hpp"
#include "kernels/cross_entropy.hpp"
#include "kernels/embedding.hpp"
#include "kernels/linear.hpp"
#include "kernels/moe.hpp"
#include "kernels/norm.hpp"
#include "tests/support/gradcheck.hpp"

using d9d::kernels::WeightWork;
using d9d::test::integers;
using d9d::test::Tensors;
using d9d::test::values;

namespace {

// A model with every op that has weights. All parameters are views of one buffer, as are their gradients.
struct Model {
  Tensors parameters;
  at::Tensor data, grad;

  explicit Model(bool with_gradients) {
    const std::vector<std::vector<int64_t>> shapes{{11, 16},    {16},        {16, 16}, {8, 16},
                                                   {8},         {8},         {16, 16}, {3, 12, 16},
                                                   {3, 12, 16}, {3, 16, 12}, {11, 16}, {16}};
    int64_t total = 0;
    for (const auto& shape : shapes) total += c10::multiply_integers(shape);
    data = values({total}, 1, at::kFloat);
    grad = at::zeros({total}, at::kFloat);
    int64_t offset = 0;
    for (const auto& shape : shapes) {
      const int64_t count = c10::multiply_integers(shape);
      parameters.push_back(data.narrow(0, offset, count).view(shape).detach().requires_grad_(true));
      if (with_gradients) parameters.back().mutable_grad() = grad.narrow(0, offset, count).view(shape);
      offset += count;
    }
  }

  at::Tensor loss(const at::Tensor& ids) const {
    const auto& p = parameters;
    auto x = d9d::kernels::embedding(ids, p[0]);
    const auto normed = d9d::kernels::rms_norm(x, p[1], 1e-6);
    const auto qk = d9d::kernels::linear_multi(normed, {p[2], p[3]}, {p[11], at::Tensor()});
    const auto angle = values({6, 8}, 3, at::kFloat);
    const auto [q, k] = d9d::kernels::qk_norm_rope(qk[0].view({1, 6, 2, 8}), qk[1].view({1, 6, 1, 8}), p[4],
                                                   p[5], 1e-6, angle.cos(), angle.sin());
    x = d9d::kernels::linear((q * k).reshape({6, 16}), p[6]);
    const auto [probs, experts] = d9d::kernels::moe_router(x.narrow(1, 0, 3), {2, true});
    x = d9d::kernels::moe_experts(x, probs, experts, p[7], p[8], p[9]);
    return d9d::kernels::linear_cross_entropy(x, p[10], ids.view({-1})).sum();
  }
};

const at::Tensor& ids() {
  static const at::Tensor tensor = integers({1, 6}, 11, 4);
  return tensor;
}

at::Tensor gradient_after(WeightWork::Mode mode, int rounds) {
  Model model(true);
  const auto work = c10::make_intrusive<WeightWork>(mode);
  for (int i = 0; i < rounds; ++i) {
    at::Tensor loss;
    {
      const WeightWork::Scope scope(work);
      loss = model.loss(ids());
    }
    loss.backward();
    work->run_queued();
  }
  return model.grad;
}

}  // namespace

TEST(WeightWork, AddsWhatAutogradWouldReturn) {
  const Model plain(false);
  plain.loss(ids()).backward();
  Tensors expected;
  for (const auto& parameter : plain.parameters) expected.push_back(parameter.grad().reshape({-1}));

  d9d::test::expect_close(gradient_after(WeightWork::Mode::now, 1), at::cat(expected), 1e-6, "gradient");
}

TEST(WeightWork, DeferredEqualsNowBitForBit) {
  EXPECT_TRUE(gradient_after(WeightWork::Mode::now, 2).equal(gradient_after(WeightWork::Mode::deferred, 2)));
}

TEST(WeightWork, RunTwiceAccumulates) {
  d9d::test::expect_close(gradient_after(WeightWork::Mode::now, 2),
                          gradient_after(WeightWork::Mode::now, 1) * 2, 1e-6, "gradient");
}

TEST(WeightWork, DeferredTouchesNoGradientBeforeItRuns) {
  Model model(true);
  const auto work = c10::make_intrusive<WeightWork>(WeightWork::Mode::deferred);
  const WeightWork::Scope scope(work);

  model.loss(ids()).backward();

  EXPECT_EQ(model.grad.abs().max().item<float>(), 0);
  EXPECT_GT(work->pending(), 0U);
  work->discard();
  EXPECT_EQ(work->pending(), 0U);
}

TEST(WeightWork, NamesEachParameterOnceBeforeItsJob) {
  Model model(true);
  const auto work = c10::make_intrusive<WeightWork>();
  std::map<const void*, int> reports;
  work->set_before_job(
      [&](const at::Tensor& parameter, bool) { ++reports[parameter.unsafeGetTensorImpl()]; });
  const WeightWork::Scope scope(work);

  model.loss(ids()).backward();

  for (const auto& parameter : model.parameters) EXPECT_EQ(reports[parameter.unsafeGetTensorImpl()], 1);
}

TEST(WeightWork, IsTheOneOfTheForwardWhenBackwardRunsOnAnotherThread) {
  Model model(true);
  at::Tensor loss;
  {
    const WeightWork::Scope scope(c10::make_intrusive<WeightWork>());
    loss = model.loss(ids());
  }

  std::thread([&] { loss.backward(); }).join();

  EXPECT_TRUE(model.grad.equal(gradient_after(WeightWork::Mode::now, 1)));
}

TEST(WeightWork, LeavesFrozenParametersAlone) {
  Model model(true);
  const auto work = c10::make_intrusive<WeightWork>(WeightWork::Mode::deferred);
  const WeightWork::Scope scope(work);
  for (auto& parameter : model.parameters) parameter.requires_grad_(false);
  model.parameters[6].requires_grad_(true);

  model.loss(ids()).backward();

  EXPECT_EQ(work->pending(), 1U);
  work->discard();
}

TEST(WeightWork, KeepsAJobThatThrewInTheQueue) {
  WeightWork work(WeightWork::Mode::deferred);
  work.submit({}, [] { throw std::runtime_error("no"); });
  work.submit({}, [] {});

  EXPECT_THROW(work.run_queued(), std::runtime_error);

  EXPECT_EQ(work.pending(), 2U);
}

TEST(WeightWork, AddsGradientsOfBfloat16IntoFloatBuffers) {
  const auto x = values({33, 20}, 1, at::kBFloat16);
  const auto weight = values({9, 20}, 2, at::kBFloat16).requires_grad_(true);
  weight.mutable_grad() = at::zeros({9, 20}, at::kBFloat16);
  const auto up = values({33, 9}, 3, at::kBFloat16);
  const WeightWork::Scope scope(c10::make_intrusive<WeightWork>());

  d9d::kernels::linear(x, weight).backward(up);

  d9d::test::expect_close(weight.grad(), up.to(at::kDouble).t().mm(x.to(at::kDouble)), 2e-2, "gradient");
}
