#include "runtime/text/model_use.hpp"

#include <ATen/ops/full.h>
#include <ATen/ops/tensor.h>
#include <gmock/gmock.h>

#include <cmath>

#include "runtime/base/error.hpp"
#include "tests/runtime/family/golden_model.hpp"
#include "tests/support/error_of.hpp"

namespace d9d::test {
namespace {

LoadedModel load(const std::string& name) {
  return load_hugging_face_model(PosixDisk(), golden_folder(name));
}

class Score : public testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Cases, Score, testing::Values("dense_tied", "dense_bias_yarn", "moe", "moe_mixed"),
                         [](const auto& info) { return info.param; });

TEST_P(Score, IsThatOfTransformers) {
  const GoldenModel golden = golden_model(GetParam());
  ScoreOptions with_logits;
  with_logits.with_logits = true;

  const Scores scores =
      score_tokens(load(GetParam()), golden.inputs.at("input_ids"), golden.labels.at("labels"));
  const Scores more =
      score_tokens(load(GetParam()), golden.inputs.at("input_ids"), golden.labels.at("labels"), with_logits);

  const double loss = golden.expect.at("loss").item<double>();
  EXPECT_NEAR(scores.loss, loss, 1e-6 * loss);
  EXPECT_NEAR(more.loss, loss, 1e-6 * loss);
  EXPECT_LT(relative_difference(scores.token_loss, golden.expect.at("token_loss")), 1e-5);
  EXPECT_LT(relative_difference(more.token_loss, golden.expect.at("token_loss")), 1e-5);
  EXPECT_LT(relative_difference(more.logits, golden.expect.at("logits")), 1e-5);
}

TEST(ScoreTokens, MakesLabelsByShifting) {
  const LoadedModel model = load("moe");
  const at::Tensor tokens = at::tensor({5L, 9L, 2L, 7L}).unsqueeze(0);

  const Scores implied = score_tokens(model, tokens);
  const Scores given = score_tokens(model, tokens, at::tensor({9L, 2L, 7L, -100L}).unsqueeze(0));

  EXPECT_TRUE(bitwise_equal(implied.token_loss, given.token_loss));
  EXPECT_EQ(implied.token_loss[0][3].item<float>(), 0.0F);
}

TEST(ScoreTokens, Mod10NeedsLabelsOfAModelWhoseTokensSeeThoseAfterThem) {
  const LoadedModel model = load("dense_families/llama_both_ways");
  const at::Tensor tokens = at::tensor({5L, 9L, 2L, 7L}).unsqueeze(0);
  const auto refusal = [](const auto& act) { return error_of(act, ErrorKind::input); };

  EXPECT_EQ(score_tokens(model, tokens, tokens).counted, 4);
  EXPECT_THAT(refusal([&] { score_tokens(model, tokens); }), testing::HasSubstr("give labels (--labels)"));
  EXPECT_THAT(refusal([&] {
                generate(model, {{5, 9}}, {.max_new_tokens = 4});
              }),
              testing::HasSubstr("cannot generate a text"));
}

TEST(ScoreTokens, DoesNotDependOnTheBatches) {
  const GoldenModel golden = golden_model("moe");
  ScoreOptions one_by_one;
  one_by_one.tokens_per_batch = 1;

  const Scores alone = score_tokens(load("moe"), golden.inputs.at("input_ids"), {}, one_by_one);
  const Scores together = score_tokens(load("moe"), golden.inputs.at("input_ids"));

  EXPECT_LT(relative_difference(alone.token_loss, together.token_loss), 1e-6);
}

TEST(ScoreTokens, NamesIdsOutsideTheVocabulary) {
  const LoadedModel model = load("moe");
  const at::Tensor tokens = at::tensor({5L, 61L}).unsqueeze(0);

  EXPECT_THROW(score_tokens(model, tokens), Error);
  EXPECT_THROW(score_tokens(model, at::tensor({5L, 6L}).unsqueeze(0), tokens), Error);
  EXPECT_THROW(score_tokens(model, at::tensor({5L, 6L})), Error);
  EXPECT_TRUE(std::isnan(score_tokens(model, at::tensor({5L}).unsqueeze(0)).loss));
}

std::vector<std::int64_t> text_of(const LoadedModel& model, const std::vector<std::int64_t>& prompt,
                                  const GenerateOptions& options = {}) {
  return generate(model, {prompt}, options).front();
}

TEST(Generate, TakesTheMostLikelyTokenAtTemperatureZero) {
  const LoadedModel model = load("moe");
  GenerateOptions greedy;
  greedy.max_new_tokens = 5;
  greedy.temperature = 0;

  const auto ids = text_of(model, {5, 9, 2}, greedy);

  std::vector<std::int64_t> text = {5, 9, 2};
  text.insert(text.end(), ids.begin(), ids.end());
  ScoreOptions with_logits;
  with_logits.with_logits = true;
  const at::Tensor best =
      score_tokens(model, at::tensor(text).unsqueeze(0), {}, with_logits).logits.argmax(-1);
  ASSERT_EQ(ids.size(), 5U);
  for (std::int64_t i = 0; i < 5; ++i) EXPECT_EQ(ids[i], best[0][i + 2].item<std::int64_t>());
}

TEST(Generate, DrawsTheSameTextFromTheSameSeed) {
  const LoadedModel model = load("moe");
  GenerateOptions options;
  options.max_new_tokens = 12;
  options.seed = 3;

  const auto text = text_of(model, {1}, options);

  EXPECT_EQ(text_of(model, {1}, options), text);
  options.seed = 4;
  EXPECT_NE(text_of(model, {1}, options), text);
  options.top_k = 1;
  const auto top = text_of(model, {1}, options);
  options.temperature = 0;
  EXPECT_EQ(text_of(model, {1}, options), top);
}

TEST(Generate, DrawsTokensAsOftenAsTheirProbability) {
  const LoadedModel model = load("dense_tied");
  ScoreOptions with_logits;
  with_logits.with_logits = true;
  const at::Tensor logits =
      score_tokens(model, at::tensor({7L}).unsqueeze(0), {}, with_logits).logits.flatten();
  const at::Tensor expected = logits.div(2.0).softmax(0);
  GenerateOptions options;
  options.max_new_tokens = 1;
  options.temperature = 2.0;
  std::vector<double> seen(61);

  for (options.seed = 0; options.seed < 2000; ++options.seed)
    seen[text_of(model, {7}, options)[0]] += 1.0 / 2000;

  for (std::int64_t id = 0; id < 61; ++id) EXPECT_NEAR(seen[id], expected[id].item<double>(), 0.04) << id;
}

TEST(Generate, EndsAfterAnEndToken) {
  LoadedModel model = load("moe");
  GenerateOptions greedy;
  greedy.temperature = 0;
  greedy.max_new_tokens = 8;
  const auto text = text_of(model, {5, 9, 2}, greedy);

  model.config->eos_token_ids = {text[2]};

  EXPECT_LE(text_of(model, {5, 9, 2}, greedy).size(), 3U);
}

TEST(Generate, RefusesMoreTokensThanTheModelHasPositions) {
  LoadedModel model = load("moe");
  model.config->max_position_embeddings = 6;
  GenerateOptions greedy;
  greedy.temperature = 0;
  greedy.max_new_tokens = 3;

  EXPECT_NO_THROW(text_of(model, {5, 9, 2}, greedy));
  greedy.max_new_tokens = 4;
  EXPECT_THROW(text_of(model, {5, 9, 2}, greedy), Error);
  EXPECT_THROW(score_tokens(model, at::full({1, 7}, 5, at::kLong)), Error);
}

TEST(Generate, RefusesAnEmptyPrompt) {
  EXPECT_THROW(text_of(load("moe"), {}), Error);
}

}  // namespace
}  // namespace d9d::test
