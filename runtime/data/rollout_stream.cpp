#include "runtime/data/rollout_stream.hpp"

#include <algorithm>

#include "runtime/base/error.hpp"

namespace d9d {
namespace {

void require_room(const Rollout& rollout, std::int64_t length) {
  const auto tokens = std::ssize(rollout.prompt) + std::ssize(rollout.text) - 1;
  D9D_REQUIRE(
      !rollout.prompt.empty() && !rollout.text.empty() && tokens <= length,
      "rollout {} has a prompt of {} and a text of {} tokens, which is no sample of {} tokens; give longer "
      "samples, shorter prompts or a smaller max_new_tokens",
      rollout.number, rollout.prompt.size(), rollout.text.size(), length);
}

}  // namespace

Sample text_sample(const Rollout& rollout, std::int64_t length) {
  require_room(rollout, length);
  const std::size_t prompt = rollout.prompt.size(), text = rollout.text.size();
  const auto room = static_cast<std::size_t>(length);
  Sample sample{std::vector<std::int64_t>(room, 0), std::vector<std::int64_t>(room, ignored_label)};
  std::ranges::copy(rollout.prompt, sample.input_ids.begin());
  std::copy_n(rollout.text.begin(), text - 1, sample.input_ids.begin() + static_cast<std::ptrdiff_t>(prompt));
  std::ranges::copy(rollout.text, sample.labels.begin() + static_cast<std::ptrdiff_t>(prompt - 1));
  sample.token_mask.assign(room, false);
  std::fill_n(sample.token_mask.begin(), prompt + text - 1, true);
  return sample;
}

std::vector<float> label_log_probs(const Rollout& rollout, std::int64_t length) {
  require_room(rollout, length);
  D9D_REQUIRE(rollout.log_probs.size() == rollout.text.size(),
              "rollout {} has {} log-probabilities for {} tokens", rollout.number, rollout.log_probs.size(),
              rollout.text.size());
  std::vector<float> row(static_cast<std::size_t>(length), 0);
  std::ranges::copy(rollout.log_probs, row.begin() + std::ssize(rollout.prompt) - 1);
  return row;
}

void require_possible(const RolloutOptions& options) {
  D9D_REQUIRE(options.max_new_tokens >= 1 && options.texts_per_sample >= 1,
              "rollouts have {} new tokens and {} texts for a sample; expected one of each at least",
              options.max_new_tokens, options.texts_per_sample);
  D9D_REQUIRE(
      options.temperature > 0,
      "the temperature of rollouts is {}; expected a number above 0, because all texts of a prompt are the "
      "same at 0",
      options.temperature);
  D9D_REQUIRE(options.top_p > 0 && options.top_p <= 1, "top_p of rollouts is {}; expected above 0, at most 1",
              options.top_p);
  D9D_REQUIRE(options.prompt_tokens_max >= 0,
              "prompt_tokens_max of rollouts is {}; expected the tokens of the longest prompt, or 0",
              options.prompt_tokens_max);
  D9D_REQUIRE(options.lag >= 0 && options.lag <= RolloutOptions::lag_max,
              "the lag of rollouts is {} steps; expected 0 (on policy) to {}", options.lag,
              RolloutOptions::lag_max);
}

}  // namespace d9d
