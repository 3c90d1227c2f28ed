#include "runtime/train/optimizer/elementwise_optimizer.hpp"

#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/full.h>
#include <gtest/gtest.h>

#include "runtime/base/error.hpp"
#include "tests/runtime/train/stage_of.hpp"

namespace d9d {
namespace {

// SGD with momentum 0.5.
ElementwiseOptions with_momentum(double lr) {
  return {.lr = lr, .states = {"speed"}, .update = [](const ElementUpdate& part) {
            part.states[0].mul_(0.5).add_(part.gradients);
            part.values.sub_(part.states[0], part.lr);
          }};
}

TEST(ElementwiseOptimizer, UpdatesAsItsFunctionSays) {
  const std::vector<StageParameter> stage{make_parameter("a", {2, 3}), make_parameter("b", {4})};
  for (const StageParameter& parameter : stage) parameter.tensor.detach().fill_(1);
  const FlatParameters flat(stage, {});
  ElementwiseOptions options = with_momentum(0.1);
  options.rules = {{.match = "b", .lr_multiplier = 2}};
  ElementwiseOptimizer optimizer(options, flat);

  for (int step = 0; step < 2; ++step) {
    for (const StageParameter& parameter : stage) parameter.tensor.mutable_grad().fill_(4);
    optimizer.step({.lr_multiplier = 0.5, .grad = 0.25});
  }

  // Gradients of 1: speeds 1 and 1.5, at a learning rate of 0.05.
  EXPECT_NEAR(stage[0].tensor.min().item<float>(), 1 - 0.05 * 2.5, 1e-6);
  EXPECT_NEAR(stage[1].tensor.max().item<float>(), 1 - 0.1 * 2.5, 1e-6);
  EXPECT_EQ(stage[0].tensor.grad().abs().max().item<float>(), 0);
  EXPECT_EQ(optimizer.step_count(), 2);
  bool has_state = false;
  for (const StateEntry& entry : optimizer.state_entries())
    has_state |= entry.kind == "speed" && entry.name == "b";
  EXPECT_TRUE(has_state);
}

TEST(ElementwiseOptimizer, KeepsMastersOfBfloat16) {
  StageParameter parameter = make_parameter("a", {4});
  parameter.tensor = at::full({4}, 1, at::TensorOptions(at::kBFloat16)).requires_grad_();
  const std::vector<StageParameter> stage{parameter};
  const FlatParameters flat(stage, {});
  ElementwiseOptimizer optimizer(with_momentum(1e-3), flat);

  // Each update is less than half a digit of bfloat16 at 1; together they are two digits.
  for (int step = 0; step < 8; ++step) {
    stage[0].tensor.mutable_grad().fill_(1);
    optimizer.step({});
  }

  EXPECT_LT(stage[0].tensor.max().item<float>(), 0.99F);
}

// SGD of a bfloat16 parameter with rounding, three steps.
at::Tensor rounded(const Layout& layout, double lr, const at::Tensor& gradient) {
  const std::vector<StageParameter> stage{make_parameter("a.b.weight", layout, at::kBFloat16)};
  const FlatParameters flat(stage, {.grad_dtype = at::kFloat});
  ElementwiseOptions options = with_momentum(lr);
  options.stochastic_rounding = true;
  options.seed = 3;
  ElementwiseOptimizer optimizer(options, flat);
  for (const StateEntry& entry : optimizer.state_entries()) EXPECT_NE(entry.kind, master_weight_kind);
  for (int step = 0; step < 3; ++step) {
    stage[0].tensor.mutable_grad().copy_(block_of(gradient, layout.local_slice()));
    optimizer.step({});
  }
  return stage[0].tensor.detach().clone();
}

// OPT-04. Steps far below the spacing of bfloat16 around 1: after three steps of momentum 0.5 the sum of the speeds is
// 1 + 1.5 + 1.75. The mean of 10,000 roundings of at most a spacing of 2^-7 is off by 2^-7 / 100 at 2 deviations.
TEST(ElementwiseOptimizer, RoundsStochasticallyWithoutMasters) {
  const std::vector<StageParameter> stage{
      make_parameter("a.b.weight", Layout::local({100, 100}), at::kBFloat16)};
  const FlatParameters flat(stage, {.grad_dtype = at::kFloat});
  flat.families()[0].data.fill_(1);
  ElementwiseOptions options = with_momentum(1e-3);
  options.stochastic_rounding = true;
  ElementwiseOptimizer optimizer(options, flat);

  for (int step = 0; step < 3; ++step) {
    flat.families()[0].grad.fill_(1);
    optimizer.step({});
  }

  EXPECT_NEAR(stage[0].tensor.to(at::kDouble).mean().item<double>(), 1 - 4.25e-3, 2e-4);
}

TEST(ElementwiseOptimizer, RefusesToRoundFloat16) {
  const std::vector<StageParameter> stage{make_parameter("a", Layout::local({4}), at::kHalf)};
  const FlatParameters flat(stage, {.grad_dtype = at::kFloat});
  ElementwiseOptions options = with_momentum(1e-3);
  options.stochastic_rounding = true;

  EXPECT_THROW(ElementwiseOptimizer(options, flat), Error);
}

TEST(ElementwiseOptimizer, RoundsToTheSameBitsOnEveryMesh) {
  const at::Tensor gradient = wave("g", {6, 10}, 0);
  const at::Tensor whole = rounded(Layout::local({6, 10}), 1e-3, gradient);
  std::vector<at::Tensor> rows, columns;
  for (int rank = 0; rank < 2; ++rank) {
    rows.push_back(rounded(Layout({6, 10}, {sharded("tp", 2, rank, 0)}), 1e-3, gradient));
    columns.push_back(rounded(Layout({6, 10}, {sharded("tp", 2, rank, 1)}), 1e-3, gradient));
  }

  EXPECT_TRUE(at::equal(at::cat(rows, 0), whole));
  EXPECT_TRUE(at::equal(at::cat(columns, 1), whole));
}

}  // namespace
}  // namespace d9d
