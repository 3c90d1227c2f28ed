#include "runtime/text/generating_part.hpp"

#include <ATen/ops/log_softmax.h>
#include <ATen/ops/scalar_tensor.h>
#include <ATen/ops/tensor.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "runtime/task/inference_task.hpp"
#include "tests/runtime/family/golden_model.hpp"

namespace d9d::test {
namespace {

// Two prompts of two and four tokens, and a row of no sample, through two stages by hand.
TensorMap over_two_stages(const GenerateOptions& options) {
  const GoldenModel golden = golden_model("moe");
  GeneratingPart first(stage_of(golden, {0, 2}), {0, 2}, options),
      last(stage_of(golden, {1, 2}), {1, 2}, options);
  first.set_training(false);
  last.set_training(false);
  TensorMap shared{{"sample_numbers", at::tensor({0L, 1L, -1L})},
                   {"prompt_lengths", at::tensor({2L, 4L, 1L})},
                   {"prompt_room", at::scalar_tensor(4, at::kLong)},
                   {microbatch_number, at::scalar_tensor(3, at::kLong)}};
  TensorMap between{{"input_ids", at::tensor({5L, 9L, 0L, 0L, 7L, 9L, 6L, 3L, 1L, 1L, 1L, 1L}).view({3, 4})}};
  if (options.repetition_penalty != 1) shared["prompts"] = between.at("input_ids");
  for (std::int64_t pass = 0; pass < options.max_new_tokens; ++pass) {
    shared[pass_number] = at::scalar_tensor(pass, at::kLong);
    between = last.forward(first.forward(between, shared), shared);
  }
  return between;
}

std::vector<std::int64_t> texts_over_two_stages(const GenerateOptions& options) {
  const at::Tensor tokens = over_two_stages(options).at("tokens").contiguous();
  return {tokens.data_ptr<std::int64_t>(), tokens.data_ptr<std::int64_t>() + tokens.numel()};
}

TEST(GeneratingPart, MakesTheTextsOfAWholeModel) {
  GenerateOptions options;
  options.max_new_tokens = 5;
  options.temperature = 0.9;
  const auto whole = stage_of(golden_model("moe"));
  whole->set_training(false);
  const auto expected = Generator(*whole, options, 9).generate({{0, {5, 9}}, {1, {7, 9, 6, 3}}});

  const auto made = texts_over_two_stages(options);

  EXPECT_EQ(std::vector(made.begin(), made.begin() + 5), expected[0]);
  EXPECT_EQ(std::vector(made.begin() + 5, made.begin() + 10), expected[1]);
  EXPECT_EQ(std::vector(made.begin() + 10, made.end()), std::vector<std::int64_t>(5, -1)) << "of no sample";
}

TEST(GeneratingPart, PenalisesRepetitionsAndEndsBehindSeveralTokensAsAWholeModel) {
  GenerateOptions options;
  options.max_new_tokens = 6;
  options.temperature = 0;
  options.repetition_penalty = 1.6;
  const auto whole = stage_of(golden_model("moe"));
  whole->set_training(false);
  const auto expected = Generator(*whole, options, 10).generate({{0, {5, 9}}, {1, {7, 9, 6, 3}}});
  options.ends_here = [&](std::span<const std::int64_t> text) {
    return text.size() >= 2 && std::ranges::equal(text.last(2), std::span(expected[1]).subspan(1, 2));
  };

  // Both texts may have the two tokens.
  const auto cut = [&](std::vector<std::int64_t> text) {
    for (std::size_t length = 2; length < text.size(); ++length)
      if (options.ends_here(std::span(text).first(length))) std::fill(text.begin() + length, text.end(), -1);
    return text;
  };
  ASSERT_EQ(cut(expected[1])[3], -1);

  for (const bool in_step : {false, true}) {
    options.in_step = in_step;
    const auto made = texts_over_two_stages(options);
    EXPECT_EQ(std::vector(made.begin(), made.begin() + 6), cut(expected[0])) << in_step;
    EXPECT_EQ(std::vector(made.begin() + 6, made.begin() + 12), cut(expected[1])) << in_step;
  }
}

TEST(GeneratingPart, ATextThatHasEndedIsNotComputedFurther) {
  GenerateOptions options;
  options.max_new_tokens = 6;
  options.temperature = 0;
  const auto whole = texts_over_two_stages(options);
  options.ends = {whole[1]};
  const auto cut = texts_over_two_stages(options);
  options.in_step = true;
  const auto in_step = texts_over_two_stages(options);

  const auto expected = [&](std::size_t row) {
    std::vector<std::int64_t> text(whole.begin() + row * 6, whole.begin() + (row + 1) * 6);
    const auto end = std::find(text.begin(), text.end(), options.ends[0]);
    if (end != text.end()) std::fill(end + 1, text.end(), -1);
    return text;
  };
  for (std::size_t row = 0; row < 2; ++row) {
    EXPECT_EQ(std::vector(cut.begin() + row * 6, cut.begin() + (row + 1) * 6), expected(row));
    EXPECT_EQ(std::vector(in_step.begin() + row * 6, in_step.begin() + (row + 1) * 6), expected(row));
  }
}

// The log-probabilities of generation with a cache are those of one forward pass over prompt and text.
TEST(GeneratingPart, SaysTheLogProbabilitiesThatAWholeForwardPassHas) {
  GenerateOptions options;
  options.max_new_tokens = 5;
  const auto plain = texts_over_two_stages(options);
  options.ends = {plain[2]};
  options.log_probs = true;
  const auto whole = stage_of(golden_model("moe"));
  whole->set_training(false);

  for (const bool in_step : {false, true}) {
    options.in_step = in_step;
    const TensorMap made = over_two_stages(options);

    const at::Tensor tokens = made.at("tokens"), log_probs = made.at("log_probs");
    EXPECT_EQ(log_probs.sizes(), tokens.sizes());
    EXPECT_LT(tokens[0][4].item<std::int64_t>(), 0) << "the first text ends early";
    const std::vector<std::vector<std::int64_t>> prompts{{5, 9}, {7, 9, 6, 3}};
    for (std::int64_t row = 0; row < 2; ++row) {
      std::vector<std::int64_t> ids = prompts[static_cast<std::size_t>(row)];
      for (std::int64_t i = 0; i < 5; ++i) {
        const auto token = tokens[row][i].item<std::int64_t>();
        if (token < 0) {
          EXPECT_EQ(log_probs[row][i].item<float>(), 0);
          continue;
        }
        const at::Tensor logits =
            whole->forward({{"input_ids", at::tensor(ids).unsqueeze(0)}}, {}).at("logits");
        EXPECT_NEAR(log_probs[row][i].item<double>(), at::log_softmax(logits[0][-1], 0)[token].item<double>(),
                    1e-5);
        ids.push_back(token);
      }
    }
  }
}

}  // namespace
}  // namespace d9d::test
