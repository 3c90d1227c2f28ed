#include <ATen/ops/cat.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/full.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "runtime/train/global_index.hpp"
#include "runtime/train/optimizer.hpp"
#include "runtime/train/stochastic_rounding.hpp"
#include "tests/runtime/train/stage_of.hpp"

namespace d9d {
namespace {

TEST(StochasticRounding, RoundsUpAsOftenAsTheDistanceSays) {
  const float value = 1 + 0.25F / 128;  // a quarter of the way from 1 to the next bf16
  int up = 0;
  for (std::uint32_t noise = 0; noise < 1U << 16; ++noise)
    up += from_bfloat16(round_stochastically(value, noise)) > 1;

  EXPECT_EQ(up, (1 << 16) / 4);
}

TEST(StochasticRounding, LeavesWhatBfloat16CanHoldAndKeepsInfinityAndNan) {
  const float infinity = std::numeric_limits<float>::infinity();
  for (const std::uint32_t noise : {0U, 1U, 0xffffU}) {
    EXPECT_EQ(from_bfloat16(round_stochastically(-1.5F, noise)), -1.5F);
    EXPECT_EQ(from_bfloat16(round_stochastically(-infinity, noise)), -infinity);
    EXPECT_TRUE(std::isnan(from_bfloat16(round_stochastically(std::nanf(""), noise))));
  }
}

TEST(GlobalIndex, FindsTheElementsOfABlockOfThreeDimensions) {
  const std::vector<std::int64_t> shape{4, 5, 6};
  const Slice slice{{1, 2, 3}, {3, 5, 5}};
  const GlobalIndex index(shape, slice);

  std::vector<std::int64_t> found;
  for (std::int64_t i = 0; i < slice.num_elements(); ++i) {
    found.push_back(index.begin_of_run(i / index.run()) + i % index.run());
  }

  std::vector<std::int64_t> expected;
  for (int a = 1; a < 3; ++a) {
    for (int b = 2; b < 5; ++b) {
      for (int c = 3; c < 5; ++c) expected.push_back((a * 5 + b) * 6 + c);
    }
  }
  EXPECT_EQ(found, expected);
  EXPECT_EQ(index.run(), 2);
}

TEST(GlobalIndex, RunsThroughDimensionsThatAreWhole) {
  const GlobalIndex index({4, 5, 6}, {{2, 0, 0}, {4, 5, 6}});

  EXPECT_EQ(index.run(), 2 * 5 * 6);
  EXPECT_EQ(index.begin_of_run(0), 2 * 5 * 6);
}

at::Tensor after_three_steps(const Layout& layout, std::uint64_t seed) {
  const std::vector<StageParameter> stage{make_parameter("a.b.weight", layout, at::kBFloat16)};
  const FlatParameters flat(stage, {.grad_dtype = at::kFloat});
  const auto optimizer = make_optimizer(StochasticAdamWOptions{.lr = 1e-3}, flat, {.seed = seed});
  for (int step = 0; step < 3; ++step) {
    stage[0].tensor.mutable_grad().copy_(block_of(wave("g", {6, 10}, step), layout.local_slice()));
    optimizer->step({});
  }
  return stage[0].tensor.detach().clone();
}

// W-29
TEST(StochasticAdamW, DrawsTheSameNoiseOnEveryMesh) {
  const at::Tensor whole = after_three_steps(Layout::local({6, 10}), 3);
  std::vector<at::Tensor> rows, columns;
  for (int rank = 0; rank < 4; ++rank) {
    rows.push_back(after_three_steps(Layout({6, 10}, {sharded("tp", 4, rank, 0)}), 3));
    columns.push_back(after_three_steps(Layout({6, 10}, {sharded("tp", 4, rank, 1)}), 3));
  }

  EXPECT_TRUE(at::equal(at::cat(rows, 0), whole));
  EXPECT_TRUE(at::equal(at::cat(columns, 1), whole));
  EXPECT_FALSE(at::equal(after_three_steps(Layout::local({6, 10}), 4), whole));
}

// Steps far below the spacing of bf16 around 1 are lost by rounding to nearest and kept on average here.
TEST(StochasticAdamW, KeepsSmallUpdatesOnAverage) {
  const std::vector<StageParameter> stage{
      make_parameter("a.b.weight", Layout::local({100, 100}), at::kBFloat16)};
  const FlatParameters flat(stage, {.grad_dtype = at::kFloat});
  flat.families()[0].data.fill_(1);
  const auto optimizer = make_optimizer(StochasticAdamWOptions{.lr = 1e-4, .weight_decay = 0}, flat);

  for (int step = 0; step < 20; ++step) {
    flat.families()[0].grad.fill_(1);
    optimizer->step({});
  }

  EXPECT_NEAR(stage[0].tensor.to(at::kDouble).mean().item<double>(), 1 - 20e-4, 2e-4);
}

}  // namespace
}  // namespace d9d
