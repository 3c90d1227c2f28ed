#include "kernels/optimizer/optimizer.hpp"

#include <ATen/Functions.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/support/gradcheck.hpp"

using d9d::kernels::AdamWSettings;
using d9d::test::values;

namespace {

struct State {
  at::Tensor param, exp_avg, exp_avg_sq;
};

// torch.optim.AdamW's single tensor path, op by op.
void reference_step(State& s, const at::Tensor& grad, const AdamWSettings& settings) {
  const double steps = static_cast<double>(settings.step);
  s.param.mul_(1 - settings.lr * settings.weight_decay);
  s.exp_avg.lerp_(grad, 1 - settings.beta1);
  s.exp_avg_sq.mul_(settings.beta2).addcmul_(grad, grad, 1 - settings.beta2);
  const auto denominator =
      (s.exp_avg_sq.sqrt() / std::sqrt(1 - std::pow(settings.beta2, steps))).add_(settings.eps);
  s.param.addcdiv_(s.exp_avg, denominator, -settings.lr / (1 - std::pow(settings.beta1, steps)));
}

}  // namespace

TEST(AdamW, FollowsTorchOverSteps) {
  const int64_t count = 5003;
  State ours{values({count}, 1, at::kFloat), at::zeros({count}), at::zeros({count})};
  State theirs{ours.param.clone(), at::zeros({count}), at::zeros({count})};
  AdamWSettings settings{
      .lr = 3e-4, .beta1 = 0.9, .beta2 = 0.95, .eps = 1e-8, .weight_decay = 0.1, .step = 1};

  for (settings.step = 1; settings.step <= 5; ++settings.step) {
    settings.grad_scale = 0.5;
    const auto grad = values({count}, 10 + static_cast<std::uint64_t>(settings.step), at::kFloat);
    d9d::kernels::adamw_step(ours.param, grad, ours.exp_avg, ours.exp_avg_sq, settings);
    reference_step(theirs, grad * 0.5, settings);
  }

  d9d::test::expect_close(ours.param, theirs.param, 1e-6, "param");
  d9d::test::expect_close(ours.exp_avg, theirs.exp_avg, 1e-6, "exp_avg");
  d9d::test::expect_close(ours.exp_avg_sq, theirs.exp_avg_sq, 1e-6, "exp_avg_sq");
}

TEST(AdamW, ZeroesTheGradientOnlyWhenAsked) {
  const int64_t count = 3001;
  const auto param = values({count}, 1, at::kFloat), grad = values({count}, 2, at::kFloat);
  const auto first = at::zeros({count}), second = at::zeros({count});
  AdamWSettings settings{.lr = 1e-3, .beta1 = 0.9, .beta2 = 0.99, .eps = 1e-8, .weight_decay = 0, .step = 1};

  d9d::kernels::adamw_step(param, grad, first, second, settings);
  EXPECT_TRUE(grad.equal(values({count}, 2, at::kFloat)));

  settings.zero_grad = true;
  d9d::kernels::adamw_step(param, grad, first, second, settings);
  EXPECT_EQ(grad.abs().max().item<float>(), 0);
}

TEST(AdamW, NamesABufferOfAnotherLength) {
  const auto flat = at::zeros({8});
  const AdamWSettings settings{
      .lr = 1e-3, .beta1 = 0.9, .beta2 = 0.99, .eps = 1e-8, .weight_decay = 0, .step = 1};

  EXPECT_THROW(d9d::kernels::adamw_step(flat, at::zeros({7}), flat, flat, settings), c10::Error);
}

TEST(SumOfSquares, MatchesFp64AndDoesNotDependOnThreads) {
  const auto x = values({200001}, 1, at::kFloat);
  const double expected = x.to(at::kDouble).pow(2).sum().item<double>();

  const double alone = d9d::kernels::sum_of_squares(x).item<double>();

  EXPECT_NEAR(alone, expected, 1e-6 * expected);
  EXPECT_NEAR(d9d::kernels::sum_of_squares(x.to(at::kBFloat16)).item<double>(), expected, 1e-2 * expected);
  EXPECT_EQ(d9d::kernels::sum_of_squares(at::zeros({0})).item<double>(), 0);
}
