// A game of rollouts with a fault in step 3, for rollouts_test, which takes the task of examples/rollouts.
#include <sys/types.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <limits>
#include <stdexcept>
#include <string>

#include "runtime/plugin/own_pieces.hpp"

namespace {

// The reward is the share of small tokens. Prompts have one to four tokens, by their number.
struct FaultyGame final : d9d::RolloutStream {
  std::string fault;
  d9d::Count texts = 1;
  std::int64_t lag = 0;
  std::uint64_t stops_at = 0;  // SIGTERM comes while the rewards of this step are computed
  std::int64_t seen = 0;       // texts so far: the state

  std::int64_t sequence_length() const override { return 9; }
  d9d::RolloutOptions options() const override {
    return {
        .max_new_tokens = fault == "long" ? 20 : 6, .ends = {0, 5}, .texts_per_sample = texts, .lag = lag};
  }
  void begin(const d9d::StreamPlace& /*place*/) override {}
  std::vector<std::vector<std::int64_t>> prompts(const d9d::RolloutStep& step) override {
    std::vector<std::vector<std::int64_t>> all;
    for (std::int64_t i = 0; i < step.samples * texts; ++i) {
      const auto number = static_cast<std::int64_t>(step.first) + i / texts;
      all.emplace_back(1 + number % 4, 1 + number % 8);
    }
    if (step.step == 3 && fault == "empty") all[0].clear();
    if (step.step == 3 && fault == "unknown") all[0] = {99};
    return all;
  }
  static double reward(const d9d::Rollout& text) {
    return static_cast<double>(std::ranges::count_if(text.text, [](std::int64_t id) { return id < 4; })) /
           static_cast<double>(text.text.size());
  }
  std::vector<d9d::Sample> samples(const d9d::RolloutStep& step,
                                   std::span<const d9d::Rollout> given) override {
    if (step.step == stops_at) kill(getpid(), SIGTERM);
    if (step.step == 3 && fault == "throws") throw std::runtime_error("no judge");
    std::vector<d9d::Sample> all;
    for (std::size_t begin = 0; begin < given.size(); begin += texts) {
      const auto group = given.subspan(begin, texts);
      const d9d::Rollout& best = *std::ranges::max_element(group, {}, reward);
      d9d::Sample sample = d9d::text_sample(best, sequence_length());
      const bool spoils = step.step == 3 && fault == "nan" && all.size() == 5;
      const auto value = spoils ? std::numeric_limits<float>::quiet_NaN() : static_cast<float>(reward(best));
      sample.numbers = {{"advantage", {1}},
                        {"reward", {value}},
                        {"log_probs", d9d::label_log_probs(best, sequence_length())}};
      all.push_back(std::move(sample));
    }
    if (step.step == 3 && fault == "few") all.pop_back();
    seen += std::ssize(given);
    return all;
  }
  nlohmann::json state() const override { return seen; }
  void load_state(const nlohmann::json& state) override { seen = state; }
};
BOOST_DESCRIBE_STRUCT(FaultyGame, (), (fault, texts, lag, stops_at))

}  // namespace

extern "C" void d9d_register(d9d::Registry& registry) {
  d9d::add_rollouts<FaultyGame>(registry, "faulty_game");
}
