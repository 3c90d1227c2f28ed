#include "runtime/nn/attention/rotary.hpp"

#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/scalar_tensor.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/tensor.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "runtime/base/error.hpp"
#include "runtime/family/hugging_face_config.hpp"
#include "tests/runtime/family/golden_model.hpp"

namespace d9d::test {
namespace {

RopeOptions golden_rope(const std::string& name) {
  std::ifstream file(golden_folder("rope.json"));
  const auto parameters = nlohmann::json::parse(file).at(name);
  const nlohmann::json config = {{"model_type", "qwen3"},
                                 {"hidden_size", 24},
                                 {"head_dim", 32},
                                 {"max_position_embeddings", 64},
                                 {"rope_parameters", parameters}};
  return parse_hugging_face_config(config.dump(), name)->rope;
}

// ntk: MOD-37.
class GoldenRope : public testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Types, GoldenRope,
                         testing::Values("default", "linear", "ntk", "dynamic", "yarn", "yarn_options",
                                         "llama3", "longrope", "longrope_derived"),
                         [](const auto& info) { return info.param; });

TEST_P(GoldenRope, HasTheFrequenciesOfTransformers) {
  const TensorMap expect = read_safetensors(golden_folder("rope.safetensors"));

  const at::Tensor frequencies = inverse_frequencies(golden_rope(GetParam()), 32);

  const at::Tensor expected = expect.at(GetParam());
  EXPECT_LT(frequencies.div(expected).sub(1.0).abs().max().item<double>(), 3e-7);
  EXPECT_FLOAT_EQ(static_cast<float>(rotary_scale(golden_rope(GetParam()))),
                  expect.at(GetParam() + ".scale").item<float>());
}

// In sequences longer than the model's or the pretrained ones.
TEST(GoldenRope, HasTheFrequenciesOfLongSequences) {
  const TensorMap expect = read_safetensors(golden_folder("rope.safetensors"));
  for (const char* name : {"dynamic", "longrope", "longrope_derived"}) {
    const at::Tensor expected = expect.at(std::string(name) + ".long");

    const at::Tensor frequencies = inverse_frequencies(golden_rope(name), 32, 100);

    EXPECT_LT(frequencies.div(expected).sub(1.0).abs().max().item<double>(), 1e-6) << name;
    EXPECT_FALSE(at::equal(frequencies, inverse_frequencies(golden_rope(name), 32))) << name;
  }
}

TEST(RotaryTable, TurnsByTheLengthOfTheWholeSequence) {
  RopeOptions rope;
  rope.type = RopeOptions::Type::longrope;
  rope.original_max_position_embeddings = 16;
  rope.short_factor = {1, 1, 1, 1};
  rope.long_factor = {2, 3, 4, 5};
  const at::Tensor first = at::arange(8, at::kLong).unsqueeze(0),
                   all = at::arange(24, at::kLong).unsqueeze(0);
  RotaryTable table(rope, 8);
  const at::Tensor alone = table.at_positions(first).first.clone();

  const at::Tensor part = table.at_positions(first, at::scalar_tensor(24, at::kLong)).first.clone();

  EXPECT_TRUE(at::equal(part, table.at_positions(all).first.narrow(0, 0, 8)));
  EXPECT_FALSE(at::equal(part, alone));
  EXPECT_TRUE(at::equal(table.at_positions(first).first, alone));
}

TEST(RotaryTable, TurnsEachTokenByTheLengthOfItsOwnSequence) {
  RopeOptions rope;
  rope.type = RopeOptions::Type::longrope;
  rope.original_max_position_embeddings = 16;
  rope.short_factor = {1, 1, 1, 1};
  rope.long_factor = {2, 3, 4, 5};
  const at::Tensor first = at::arange(3, at::kLong), last = at::arange(14, 17, at::kLong);
  const auto length = [](std::int64_t tokens) { return at::scalar_tensor(tokens, at::kLong); };
  RotaryTable table(rope, 8);
  const at::Tensor of_short = table.at_positions(first.unsqueeze(0), length(3)).first.clone();
  const at::Tensor of_long = table.at_positions(last.unsqueeze(0), length(17)).second.clone();

  const at::Tensor both = at::cat({first, last}).unsqueeze(0);
  const auto [cos, sin] = table.at_positions(both, at::tensor({3, 3, 3, 17, 17, 17}, at::kLong).unsqueeze(0));

  ASSERT_EQ(cos.sizes(), (at::IntArrayRef{6, 8}));
  EXPECT_TRUE(at::equal(cos.narrow(0, 0, 3), of_short));
  EXPECT_TRUE(at::equal(sin.narrow(0, 3, 3), of_long));
}

TEST(RotaryTable, IsTheSameForARunAndForScatteredPositions) {
  RotaryTable table({}, 8);
  const at::Tensor run = at::arange(5, 17, at::kLong).unsqueeze(0);

  const auto [run_cos, run_sin] = table.at_positions(run);
  const auto [cos, sin] = table.at_positions(at::stack({run[0], run[0].flip(0)}));

  EXPECT_EQ(run_cos.sizes(), (at::IntArrayRef{12, 8}));
  EXPECT_TRUE(at::equal(cos[0], run_cos) && at::equal(sin[0], run_sin));
  EXPECT_TRUE(at::equal(cos[1], run_cos.flip(0)) && at::equal(sin[1], run_sin.flip(0)));
}

TEST(RotaryTable, IsOneTableForRowsThatAreAlike) {
  RotaryTable table({}, 8);
  const at::Tensor runs = at::cat({at::arange(4, at::kLong), at::arange(20, 24, at::kLong)});

  const auto [cos, sin] = table.at_positions(runs.expand({3, 8}));

  EXPECT_EQ(cos.sizes(), (at::IntArrayRef{8, 8}));
  EXPECT_TRUE(at::equal(cos.narrow(0, 4, 4), table.at_positions(runs.narrow(0, 4, 4).unsqueeze(0)).first));
  EXPECT_TRUE(at::equal(sin.narrow(0, 0, 4), table.at_positions(runs.narrow(0, 0, 4).unsqueeze(0)).second));
}

TEST(RotaryTable, GrowsWithoutChangingWhatWasThere) {
  RotaryTable table({}, 8);
  const at::Tensor before = table.at_positions(at::arange(10, at::kLong).unsqueeze(0)).first.clone();

  table.at_positions(at::arange(1000, at::kLong).unsqueeze(0));

  EXPECT_TRUE(at::equal(table.at_positions(at::arange(10, at::kLong).unsqueeze(0)).first, before));
}

TEST(RotaryTable, RefusesPositionsItCannotServe) {
  RotaryTable table({}, 8);

  EXPECT_THROW(table.at_positions(at::arange(-1, 3, at::kLong).unsqueeze(0)), Error);
  EXPECT_THROW(table.at_positions(at::arange(4, at::kInt).unsqueeze(0)), Error);
}

}  // namespace
}  // namespace d9d::test
