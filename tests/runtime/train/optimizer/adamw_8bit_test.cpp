#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/tensor.h>
#include <gmock/gmock.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "runtime/base/error.hpp"
#include "runtime/train/optimizer/optimizer.hpp"
#include "tests/runtime/train/stage_of.hpp"

namespace d9d {
namespace {

at::Tensor numbers_of(const nlohmann::json& numbers) {
  return at::tensor(numbers.get<std::vector<float>>());
}

AdamW8BitOptions byte_options(const nlohmann::json& json) {
  return {.lr = json.at("lr"),
          .betas = json.at("betas"),
          .eps = json.at("eps"),
          .weight_decay = json.at("weight_decay"),
          .block_size = json.at("block_size"),
          .float32_below = 0};
}

at::Tensor saved_state(const Optimizer& optimizer, const std::string& kind, const std::string& name) {
  for (const StateEntry& entry : optimizer.state_entries())
    if (entry.kind == kind && entry.name == name) return saved_values(entry);
  ADD_FAILURE() << "no " << kind << " of " << name;
  return {};
}

void expect_near(const at::Tensor& got, const at::Tensor& expected, double tolerance,
                 const std::string& what) {
  const double distance = (got - expected).abs().max().item<double>();
  EXPECT_LE(distance, tolerance * expected.abs().max().item<double>()) << what;
}

// By tests/golden/optimizer/make_adamw_8bit.py, written from the paper.
TEST(AdamW8Bit, MakesTheStepsOfThePaper) {
  std::ifstream file(D9D_SOURCE_DIR "/tests/golden/optimizer/expect.adamw_8bit.json");
  const auto golden = nlohmann::json::parse(file);
  ASSERT_EQ(golden.at("cases").size(), 3U);
  for (const auto& one : golden.at("cases")) {
    const std::string name = one.at("name");
    const at::Tensor start = numbers_of(one.at("start"));
    const std::vector<StageParameter> stage{make_parameter("hidden.weight", {start.numel()})};
    stage[0].tensor.detach().copy_(start);
    const FlatParameters flat(stage, {});
    const auto optimizer = make_optimizer(byte_options(one.at("options")), flat);

    for (const auto& gradient : one.at("gradients")) {
      stage[0].tensor.mutable_grad().copy_(numbers_of(gradient) * 4);
      optimizer->step({.grad = 0.25});
    }

    expect_near(stage[0].tensor.detach(), numbers_of(one.at("end")), 1e-6, name);
    for (const char* kind : {"exp_avg", "exp_avg_sq"})
      expect_near(saved_state(*optimizer, kind, "hidden.weight"), numbers_of(one.at(kind)), 1e-6,
                  name + kind);
    EXPECT_EQ(stage[0].tensor.grad().abs().max().item<float>(), 0);
  }
}

// Parameters [6, 10], [4] and [8, 5], of which the first and the last are large enough.
std::vector<StageParameter> byte_stage(at::ScalarType dtype) {
  return {make_parameter("a.weight", Layout::local({6, 10}), dtype),
          make_parameter("a.norm", Layout::local({4}), dtype),
          make_parameter("embed.weight", Layout::local({8, 5}), dtype)};
}

void train(const std::vector<StageParameter>& stage, Optimizer& optimizer, int steps) {
  for (int step = 1; step <= steps; ++step) {
    for (const StageParameter& parameter : stage) {
      const at::Tensor global = wave(parameter.name, parameter.layout.global_shape(), 10.0 * step);
      parameter.tensor.mutable_grad().copy_(block_of(global, parameter.layout.local_slice()));
    }
    optimizer.step({});
  }
}

TEST(AdamW8Bit, LeavesSmallAndNamedParametersToAdamW) {
  const auto stage = byte_stage(at::kFloat), twin = byte_stage(at::kFloat);
  const FlatParameters flat(stage, {}), flat_twin(twin, {});
  const auto packed =
      make_optimizer(AdamW8BitOptions{.lr = 0.01, .float32_below = 30, .float32_for = {"embed*"}}, flat);
  const auto adamw = make_optimizer(AdamWOptions{.lr = 0.01}, flat_twin);

  train(stage, *packed, 4);
  train(twin, *adamw, 4);

  EXPECT_TRUE(at::equal(stage[1].tensor, twin[1].tensor));
  EXPECT_TRUE(at::equal(stage[2].tensor, twin[2].tensor));
  EXPECT_FALSE(at::equal(stage[0].tensor, twin[0].tensor));
  expect_near(stage[0].tensor.detach(), twin[0].tensor.detach(), 0.01, "as AdamW does, nearly");
  EXPECT_EQ(packed->state_entries().size(), adamw->state_entries().size());
}

// The first update reads no bytes.
TEST(AdamW8Bit, MakesTheFirstStepOfAdamW) {
  for (const at::ScalarType dtype : {at::kFloat, at::kBFloat16}) {
    const auto stage = byte_stage(dtype), twin = byte_stage(dtype);
    const FlatParameters flat(stage, {.grad_dtype = dtype}), flat_twin(twin, {.grad_dtype = at::kFloat});

    train(stage, *make_optimizer(AdamW8BitOptions{.lr = 0.01, .float32_below = 0}, flat), 1);
    for (const StageParameter& parameter : twin) {  // as the gradients of the other
      const at::Tensor global = wave(parameter.name, parameter.layout.global_shape(), 10.0);
      parameter.tensor.mutable_grad().copy_(global.to(dtype));
    }
    make_optimizer(AdamWOptions{.lr = 0.01}, flat_twin)->step({});

    for (std::size_t i = 0; i < stage.size(); ++i)
      EXPECT_TRUE(at::equal(stage[i].tensor, twin[i].tensor)) << stage[i].name;
  }
}

// What is saved is what AdamW saves, so that one can go on from the other.
TEST(AdamW8Bit, TakesTheMomentsOfAdamWAndOfOtherBlocks) {
  const auto stage = byte_stage(at::kFloat), twin = byte_stage(at::kFloat);
  const FlatParameters flat(stage, {}), flat_twin(twin, {});
  const auto adamw = make_optimizer(AdamWOptions{.lr = 0.01}, flat_twin);
  train(twin, *adamw, 3);
  const auto packed = make_optimizer(AdamW8BitOptions{.lr = 0.01, .block_size = 7, .float32_below = 0}, flat);

  for (const StateEntry& entry : packed->state_entries())
    load_values(entry, saved_state(*adamw, entry.kind, entry.name));

  for (const StateEntry& entry : packed->state_entries()) {
    const at::Tensor expected = saved_state(*adamw, entry.kind, entry.name);
    EXPECT_EQ(saved_values(entry).sizes(), expected.sizes());
    expect_near(saved_values(entry), expected, entry.kind == "param" ? 0 : 0.011, entry.kind + entry.name);
  }
}

TEST(AdamW8Bit, NearlyAgreesOnRanksWithOtherBlocks) {
  const auto trained = [](const Layout& layout) {
    const std::vector<StageParameter> stage{make_parameter("a.weight", layout, at::kFloat)};
    const FlatParameters flat(stage, {});
    train(stage, *make_optimizer(AdamW8BitOptions{.lr = 0.01, .block_size = 16, .float32_below = 50}, flat),
          5);
    return stage[0].tensor.detach().clone();
  };
  std::vector<at::Tensor> rows;
  for (int rank = 0; rank < 4; ++rank) rows.push_back(trained(Layout({6, 10}, {sharded("tp", 4, rank, 0)})));

  expect_near(at::cat(rows, 0), trained(Layout::local({6, 10})), 5e-3, "rows");
}

TEST(AdamW8Bit, RefusesFloat64) {
  const std::vector<StageParameter> stage{make_parameter("a.weight", Layout::local({6, 10}), at::kDouble)};
  const FlatParameters flat(stage, {});

  EXPECT_THROW(make_optimizer(AdamW8BitOptions{.lr = 1, .float32_below = 0}, flat), Error);
}

TEST(AdamW8Bit, TakesTwoBytesForAnElement) {
  const AdamW8BitOptions options{.lr = 1};

  EXPECT_EQ(state_bytes(options, Dtype::float32), 2);
  EXPECT_EQ(state_bytes(options, Dtype::bfloat16), 2 + 4);
  EXPECT_EQ(saved_state_bytes(options, Dtype::float32), 8);
  EXPECT_EQ(saved_state_bytes(AdamWOptions{.lr = 1}, Dtype::float32), 8);
  EXPECT_TRUE(has_byte_moments(options, "a.weight", {64, 64}));
  EXPECT_FALSE(has_byte_moments(options, "a.weight", {64, 63}));
}

}  // namespace
}  // namespace d9d
