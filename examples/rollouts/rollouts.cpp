// A model learns to write by trying: it writes several texts for each prompt, a reward says how good each one is, and
// what was better than the others of its group becomes more likely. GRPO (Shao and others 2024, DeepSeekMath,
// arXiv 2402.03300, equation 3 and section 4.1.2) without its term against a reference model.
#include <ATen/TensorOperators.h>
#include <ATen/ops/clamp.h>
#include <ATen/ops/exp.h>
#include <ATen/ops/minimum.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "runtime/base/error.hpp"
#include "runtime/base/rng.hpp"
#include "runtime/device/upload.hpp"
#include "runtime/metric/aggregation.hpp"
#include "runtime/plugin/own_pieces.hpp"
#include "runtime/task/token_inputs.hpp"

namespace mine {

// The game: a prompt is a number n and a letter; right is n times this letter, and then the end.
enum Token : std::int64_t { text_end = 0, first_letter = 1, first_number = 5 };
constexpr std::int64_t letters = 4, numbers = 4;

// Data: prompts for the model, and samples of what it writes.
struct LetterGame final : d9d::RolloutStream {
  d9d::Count group = 16, max_new_tokens = 6, length = 8, seed = 1;
  std::int64_t lag = 0;  // of the weights that write, in steps

  std::int64_t sequence_length() const override { return length; }  // filled up: prompt and text have fewer
  d9d::RolloutOptions options() const override {
    return {.max_new_tokens = max_new_tokens, .ends = {text_end}, .lag = lag, .prompt_tokens_max = 2};
  }
  void begin(const d9d::StreamPlace& /*place*/) override {}

  // The texts of a group have one prompt, which its number decides: so prompts are the same on every mesh.
  std::vector<std::vector<std::int64_t>> prompts(const d9d::RolloutStep& step) override {
    D9D_REQUIRE(step.samples % group == 0,
                "a data replica has {} samples in a step, expected a multiple of data.group ({}), so that no "
                "group is "
                "torn apart",
                step.samples, std::int64_t{group});
    std::vector<std::vector<std::int64_t>> all;
    for (std::int64_t i = 0; i < step.samples; ++i) {
      const d9d::RandomStream drawn(seed, "prompts", (step.first + i) / group);
      all.push_back({static_cast<std::int64_t>(first_number + drawn.below(0, numbers)),
                     static_cast<std::int64_t>(first_letter + drawn.below(1, letters))});
    }
    return all;
  }

  // The share of the right text that stands in its place: 1 for the right text alone.
  static double reward(const d9d::Rollout& rollout) {
    const std::int64_t number = rollout.prompt[0] - first_number + 1, letter = rollout.prompt[1];
    double right = 0;
    for (std::int64_t t = 0; t < std::min(number + 1, std::ssize(rollout.text)); ++t)
      right += rollout.text[t] == (t < number ? letter : std::int64_t{text_end});
    return right / static_cast<double>(number + 1);
  }

  // Each text's advantage is its reward beside those of its group (section 4.1.2). Where all are alike there is nothing
  // to learn; their deviation would be that of rounding, and no number to divide by.
  std::vector<d9d::Sample> samples(const d9d::RolloutStep& /*step*/,
                                   std::span<const d9d::Rollout> texts) override {
    std::vector<d9d::Sample> all;
    for (std::size_t begin = 0; begin < texts.size(); begin += group) {
      std::vector<double> rewards;
      for (const d9d::Rollout& text : texts.subspan(begin, group)) rewards.push_back(reward(text));
      const double mean = std::accumulate(rewards.begin(), rewards.end(), 0.0) / static_cast<double>(group);
      double square = 0;
      for (const double each : rewards) square += (each - mean) * (each - mean);
      const bool alike = std::ranges::max(rewards) == std::ranges::min(rewards);
      const double deviation = std::sqrt(square / static_cast<double>(group));
      for (std::size_t i = 0; i < rewards.size(); ++i) {
        const d9d::Rollout& text = texts[begin + i];
        const double advantage = alike ? 0 : (rewards[i] - mean) / deviation;
        d9d::Sample sample = d9d::text_sample(text, length);
        sample.numbers = {{"advantage", {static_cast<float>(advantage)}},
                          {"reward", {static_cast<float>(rewards[i])}},
                          {"log_probs", d9d::label_log_probs(text, length)}};
        all.push_back(std::move(sample));
      }
    }
    return all;
  }
  // Prompts and rewards depend on numbers and texts alone, and d9d keeps the texts: so a run may go on with any number
  // of data replicas.
  nlohmann::json state() const override { return nullptr; }
  void load_state(const nlohmann::json& /*state*/) override {}
  void load_states(const std::vector<nlohmann::json>& /*states*/,
                   const d9d::StreamPlace& /*place*/) override {}
};
BOOST_DESCRIBE_STRUCT(LetterGame, (), (group, max_new_tokens, length, seed, lag))

// Task: the loss is minus equation 3, whose gradient is that of the policy.
struct Grpo final : d9d::TrainTask {
  double clip = 0.2;  // of the ratio between the weights that learn and those that wrote

  d9d::ForwardInputs build_forward_inputs(const d9d::MicrobatchContext& context) const override {
    d9d::ForwardInputs made = d9d::token_inputs(context.batch);
    made.shared["labels"] = context.batch.at("labels");
    for (const char* name : {"labels", "advantage", "reward", "log_probs"})
      made.state[name] = context.batch.at(name);
    return made;
  }
  // A tensor of the microbatch where the outputs are.
  static at::Tensor here(const d9d::LossContext& context, const char* name) {
    return d9d::upload(context.state.at(name), d9d::device_of(context.outputs.at("cross_entropy").device()));
  }
  // Of each token of a text [B, S], and which tokens these are.
  static std::pair<at::Tensor, at::Tensor> log_ratio(const d9d::LossContext& context) {
    return {-context.outputs.at("cross_entropy") - here(context, "log_probs"),
            here(context, "labels").ne(d9d::ignored_label)};
  }
  d9d::Loss compute_loss(const d9d::LossContext& context) const override {
    const auto [log_ratios, counts] = log_ratio(context);
    const at::Tensor ratio = log_ratios.exp(), advantage = here(context, "advantage");  // [B, S], [B, 1]
    const at::Tensor gain = at::minimum(ratio * advantage, ratio.clamp(1 - clip, 1 + clip) * advantage);
    const at::Tensor of_texts = (gain * counts).sum(1) / counts.sum(1);
    return {-of_texts.mean(), static_cast<double>(of_texts.size(0))};
  }

  void create_metrics(d9d::Compose& metrics) const override {
    for (const char* name : {"reward", "off_policy"})
      metrics.add(name, std::make_unique<d9d::WeightedMean>());
  }
  // off_policy: how far the weights that learn are from those that wrote, in logarithms of a token's probability. With
  // lag 0 it is rounding alone; more means that generation and training do not compute the same.
  void update_metrics(const d9d::LossContext& context, d9d::Compose& metrics) const override {
    const auto [log_ratios, counts] = log_ratio(context);
    const auto tokens = static_cast<double>(counts.sum().item<std::int64_t>());
    const auto difference = (log_ratios.abs() * counts).sum().item<double>();
    metrics.get<d9d::WeightedMean>("off_policy").update(difference / tokens, tokens);
    const at::Tensor& rewards = context.state.at("reward");
    metrics.get<d9d::WeightedMean>("reward").update(rewards.mean().item<double>(),
                                                    static_cast<double>(rewards.numel()));
  }
};
BOOST_DESCRIBE_STRUCT(Grpo, (), (clip))

}  // namespace mine

extern "C" void d9d_register(d9d::Registry& registry) {
  d9d::add_rollouts<mine::LetterGame>(registry, "letter_game");
  d9d::add_task<mine::Grpo>(registry, "grpo");
}
