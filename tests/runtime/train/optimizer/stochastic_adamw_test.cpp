#include <ATen/TensorOperators.h>
#include <ATen/ops/allclose.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/floor.h>
#include <ATen/ops/log2.h>
#include <ATen/ops/pow.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include <cmath>

#include "runtime/base/rng.hpp"
#include "runtime/train/optimizer/block_place.hpp"
#include "runtime/train/optimizer/optimizer.hpp"
#include "tests/runtime/train/stage_of.hpp"

namespace d9d {
namespace {

TEST(RandomKey, GivesTheWordsOfItsStream) {
  const RandomStream stream(7, "rounding:a.weight", 12345678901);
  const kernels::RandomKey key{stream.key()[0], stream.key()[1], stream.step()};
  for (const std::uint64_t element : {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{0x123456789abcdef}}) {
    const kernels::RandomWords words = key.words(element);
    EXPECT_EQ(std::to_array(words.at), stream.words(element));
  }
}

TEST(BlockPlace, FindsTheElementsOfABlockOfThreeDimensions) {
  const std::vector<std::int64_t> shape{4, 5, 6};
  const Slice slice{{1, 2, 3}, {3, 5, 5}};
  const kernels::BlockPlace place = block_place(shape, slice);

  std::vector<std::int64_t> found;
  for (std::int64_t i = 0; i < slice.num_elements(); ++i) {
    found.push_back(place.begin_of_run(i / place.run) + i % place.run);
  }

  std::vector<std::int64_t> expected;
  for (int a = 1; a < 3; ++a) {
    for (int b = 2; b < 5; ++b) {
      for (int c = 3; c < 5; ++c) expected.push_back((a * 5 + b) * 6 + c);
    }
  }
  EXPECT_EQ(found, expected);
  EXPECT_EQ(place.run, 2);
}

TEST(BlockPlace, RunsThroughDimensionsThatAreWhole) {
  const kernels::BlockPlace place = block_place({4, 5, 6}, {{2, 0, 0}, {4, 5, 6}});

  EXPECT_EQ(place.run, 2 * 5 * 6);
  EXPECT_EQ(place.begin_of_run(0), 2 * 5 * 6);
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

// A stage of one bf16 parameter and its fp32 twin, trained by the same gradients.
struct Twins {
  static constexpr int steps = 10;
  std::vector<StageParameter> half{make_parameter("a.b.weight", Layout::local({32, 32}), at::kBFloat16)};
  std::vector<StageParameter> single{make_parameter("a.b.weight", std::vector<std::int64_t>{32, 32})};
  FlatParameters flat_half{half, {.grad_dtype = at::kFloat}};
  FlatParameters flat_single{single, {}};
  Twins() { single[0].tensor.detach().copy_(half[0].tensor.detach()); }

  static void train(const FlatParameters& flat, Optimizer& optimizer, int count) {
    for (int step = 0; step < count; ++step) {
      flat.families()[0].grad.copy_(wave("g", {32, 32}, step).flatten());
      optimizer.step({});
    }
  }
};

at::Tensor moment_of(const Optimizer& optimizer, const std::string& kind) {
  for (const StateEntry& entry : optimizer.state_entries())
    if (entry.kind == kind) return entry.tensor.to(at::kFloat);
  return {};
}

constexpr AdamWOptions float_adamw() {
  return {.lr = 3e-3, .betas = {0.9, 0.99}, .weight_decay = 0.1};
}
StochasticAdamWOptions rounded_adamw(Dtype state) {
  const AdamWOptions same = float_adamw();
  return {.lr = same.lr, .betas = same.betas, .weight_decay = same.weight_decay, .state_dtype = state};
}

// OPT-01: the rounding is all that parts it from AdamW in fp32.
TEST(StochasticAdamW, MakesAStepOfAdamWToOneOfTheTwoNearestNumbers) {
  Twins exact;
  Twins::train(exact.flat_single, *make_optimizer(float_adamw(), exact.flat_single), 1);
  const at::Tensor expected = exact.single[0].tensor.detach();
  const at::Tensor spacing = at::pow(2.0, at::floor(at::log2(expected.abs())) - 7);
  for (std::uint64_t seed = 0; seed < 8; ++seed) {
    Twins twins;

    Twins::train(twins.flat_half,
                 *make_optimizer(rounded_adamw(Dtype::float32), twins.flat_half, {.seed = seed}), 1);

    const at::Tensor distance = (twins.half[0].tensor.detach().to(at::kFloat) - expected).abs();
    EXPECT_TRUE((distance < spacing).all().item<bool>()) << seed;
    EXPECT_GT(distance.max().item<float>(), 0);
  }
}

// Decay is linear and the rest of an update does not read the parameter, so its mean is the fp32 one. A rounding is
// off by 2^-9 at most in the root mean square; ten of them, and the mean of 64 seeds, by 0.0008.
TEST(StochasticAdamW, IsAdamWOfFloat32InTheMean) {
  constexpr int seeds = 64;
  Twins exact;
  Twins::train(exact.flat_single, *make_optimizer(float_adamw(), exact.flat_single), Twins::steps);
  at::Tensor sum = at::zeros({32, 32}, at::kDouble);
  for (std::uint64_t seed = 0; seed < seeds; ++seed) {
    Twins twins;
    Twins::train(twins.flat_half,
                 *make_optimizer(rounded_adamw(Dtype::float32), twins.flat_half, {.seed = seed}),
                 Twins::steps);
    sum += twins.half[0].tensor.detach();
  }

  const at::Tensor error = sum / seeds - exact.single[0].tensor.detach();
  EXPECT_LT(std::abs(error.mean().item<double>()), 1e-4);
  EXPECT_LT(error.abs().max().item<double>(), 6 * 0.0008);
}

// The tolerances are the original's.
TEST(StochasticAdamW, HasTheMomentsOfAdamW) {
  Twins exact;
  const auto adamw = make_optimizer(float_adamw(), exact.flat_single);
  Twins::train(exact.flat_single, *adamw, Twins::steps);
  for (const Dtype dtype : {Dtype::float32, Dtype::bfloat16}) {
    const bool wide = dtype == Dtype::float32;
    Twins twins;
    const auto rounded = make_optimizer(rounded_adamw(dtype), twins.flat_half, {.seed = 5});

    Twins::train(twins.flat_half, *rounded, Twins::steps);

    for (const char* kind : {"exp_avg", "exp_avg_sq"}) {
      EXPECT_TRUE(at::allclose(moment_of(*rounded, kind), moment_of(*adamw, kind), wide ? 1e-4 : 2e-2,
                               wide ? 1e-5 : 1e-2))
          << kind;
    }
  }
}

}  // namespace
}  // namespace d9d
