#include "runtime/data/rollout_stream.hpp"

#include <gmock/gmock.h>

#include "tests/support/error_of.hpp"

namespace d9d {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// Its end is the id that fills rows up, too: a mask by ids would lose it (TRL #6357, #4970).
const Rollout rollout{.number = 7, .prompt = {5, 6}, .text = {8, 9, 0}, .log_probs = {-1, -2, -3}};

TEST(TextSample, LearnsTheTokensOfTheTextWithTheOneThatEndsIt) {
  const Sample sample = text_sample(rollout, 6);

  EXPECT_THAT(sample.input_ids, ElementsAre(5, 6, 8, 9, 0, 0));
  EXPECT_THAT(sample.labels, ElementsAre(-100, 8, 9, 0, -100, -100));
  EXPECT_THAT(sample.token_mask, ElementsAre(true, true, true, true, false, false));
  EXPECT_THAT(label_log_probs(rollout, 6), ElementsAre(0, -1, -2, -3, 0, 0));
}

TEST(TextSample, IsFullWhereNothingIsLeft) {
  EXPECT_THAT(text_sample(rollout, 4).labels, ElementsAre(-100, 8, 9, 0));
  EXPECT_THAT(
      test::error_of([] { text_sample(rollout, 3); }, ErrorKind::input),
      HasSubstr("rollout 7 has a prompt of 2 and a text of 3 tokens, which is no sample of 3 tokens"));
}

TEST(TextSample, NeedsAPromptAndAText) {
  EXPECT_THAT(test::error_of([] { text_sample({.prompt = {1}}, 3); }, ErrorKind::input),
              HasSubstr("a text of 0 tokens"));
  EXPECT_THAT(test::error_of([] { text_sample({.text = {1}}, 3); }, ErrorKind::input),
              HasSubstr("a prompt of 0"));
  EXPECT_THAT(test::error_of(
                  [] {
                    label_log_probs({.prompt = {1}, .text = {2, 3}}, 3);
                  },
                  ErrorKind::input),
              HasSubstr("0 log-probabilities for 2 tokens"));
}

TEST(RolloutOptions, NameWhatIsImpossible) {
  const auto refusal = [](const RolloutOptions& options) {
    return test::error_of([&] { require_possible(options); }, ErrorKind::input);
  };
  require_possible({});
  EXPECT_THAT(refusal({.max_new_tokens = 0}), HasSubstr("0 new tokens"));
  EXPECT_THAT(refusal({.temperature = 0}), HasSubstr("the temperature of rollouts is 0"));
  EXPECT_THAT(refusal({.top_p = 0}), HasSubstr("top_p of rollouts is 0"));
  EXPECT_THAT(refusal({.texts_per_sample = 0}), HasSubstr("0 texts for a sample"));
  EXPECT_THAT(refusal({.prompt_tokens_max = -1}), HasSubstr("prompt_tokens_max of rollouts is -1"));
  EXPECT_THAT(refusal({.lag = -1}), HasSubstr("the lag of rollouts is -1"));
  EXPECT_THAT(refusal({.lag = 17}), HasSubstr("expected 0 (on policy) to 16"));
}

}  // namespace
}  // namespace d9d
