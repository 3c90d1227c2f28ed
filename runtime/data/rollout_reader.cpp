#include "runtime/data/rollout_reader.hpp"

#include <bit>
#include <iterator>
#include <utility>

#include "runtime/base/count.hpp"
#include "runtime/base/error.hpp"
#include "runtime/base/json_text.hpp"

namespace d9d {
namespace {

// Log-probabilities by their bits, which are shorter in digits and exact.
nlohmann::json to_json(const Rollout& rollout) {
  std::vector<std::uint32_t> bits;
  for (const float value : rollout.log_probs) bits.push_back(std::bit_cast<std::uint32_t>(value));
  return {{"number", rollout.number},
          {"prompt", rollout.prompt},
          {"text", rollout.text},
          {"log_prob_bits", std::move(bits)}};
}

Rollout rollout_of(const nlohmann::json& json) {
  std::vector<float> log_probs;
  for (const nlohmann::json& bits : json.at("log_prob_bits"))
    log_probs.push_back(std::bit_cast<float>(bits.get<std::uint32_t>()));
  return {json.at("number").get<std::uint64_t>(), json.at("prompt").get<std::vector<std::int64_t>>(),
          json.at("text").get<std::vector<std::int64_t>>(), std::move(log_probs)};
}

std::size_t tokens_of(std::span<const Rollout> texts) {
  std::size_t tokens = 0;
  for (const Rollout& each : texts) tokens += each.prompt.size() + each.text.size();
  return tokens;
}

RolloutOptions options_of(const RolloutStream& stream) {
  const RolloutOptions options = stream.options();
  require_possible(options);
  return options;
}

}  // namespace

RolloutReader::RolloutReader(std::shared_ptr<RolloutStream> stream, const StreamPlace& place,
                             std::int64_t samples, std::uint64_t first_step,
                             const std::vector<nlohmann::json>& states)
    : stream_(std::move(stream)),
      place_(place),
      samples_(samples),
      options_(options_of(*stream_)),
      read_(first_step - 1) {
  stream_->begin(place_);
  if (!states.empty()) load(states);
}

void RolloutReader::load(const std::vector<nlohmann::json>& states) {
  std::vector<nlohmann::json> own;
  for (const nlohmann::json& state : states) {
    D9D_REQUIRE(state.is_object() && state.contains("pending"),
                "the checkpoint has the state of a stream that is none of rollouts; start with --fresh");
    const auto kept = std::ssize(state.at("pending"));
    D9D_REQUIRE(
        kept == options_.lag,
        "the run has rollouts with a lag of {}, and this job has a lag of {}: which weights wrote the next "
        "steps would be unknown. Go on with the lag of the run, or start with --fresh",
        counted(kept, "step"), counted(options_.lag, "step"));
    own.push_back(state.at("stream"));
  }
  stream_->load_states(own, place_);
  for (std::size_t i = 0; i < static_cast<std::size_t>(options_.lag); ++i) load_pending(i, states);
  state_ = stream_->state();
}

// The texts of all replicas follow each other, as the numbers of their samples do.
void RolloutReader::load_pending(std::size_t index, const std::vector<nlohmann::json>& states) {
  std::vector<Rollout> all;
  for (const nlohmann::json& state : states) {
    for (const nlohmann::json& text : state.at("pending")[index].at("texts")) all.push_back(rollout_of(text));
  }
  const auto own = static_cast<std::size_t>(samples_ * options_.texts_per_sample);
  D9D_REQUIRE(all.size() == own * static_cast<std::size_t>(place_.replicas),
              "the checkpoint has {} for a step that needs {}; go on with the batch and the texts of a "
              "sample that the run had, or start with --fresh",
              counted(all.size(), "rollout"), own * static_cast<std::size_t>(place_.replicas));
  const std::uint64_t first = states.front().at("pending")[index].at("first").get<std::uint64_t>();
  const auto begin = std::make_move_iterator(all.begin() + place_.replica * static_cast<std::ptrdiff_t>(own));
  steps_.push_back(
      {{read_ + 1 + index, first + static_cast<std::uint64_t>(place_.replica * samples_), samples_},
       {begin, begin + static_cast<std::ptrdiff_t>(own)}});
  ++written_;
}

std::vector<Rollout> RolloutReader::ask(std::uint64_t first) {
  const RolloutStep step{asked() + 1, first, samples_};
  auto prompts = stream_->prompts(step);
  const auto wanted = static_cast<std::size_t>(samples_ * options_.texts_per_sample);
  D9D_REQUIRE(prompts.size() == wanted,
              "the stream of rollouts gave {} for step {}; expected {}, for {} of {} each",
              counted(prompts.size(), "prompt"), step.step, wanted, counted(samples_, "sample"),
              counted(options_.texts_per_sample, "text"));
  Pending pending{step, {}};
  for (auto& prompt : prompts) {
    const auto place = pending.texts.size();
    D9D_REQUIRE(!prompt.empty(), "prompt {} of step {} has no tokens; give one at least", place, step.step);
    D9D_REQUIRE(
        options_.prompt_tokens_max == 0 || std::ssize(prompt) <= options_.prompt_tokens_max,
        "prompt {} of step {} has {} tokens, more than prompt_tokens_max of the stream's options ({})", place,
        step.step, prompt.size(), options_.prompt_tokens_max);
    pending.texts.push_back(
        {first * static_cast<std::uint64_t>(options_.texts_per_sample) + place, std::move(prompt), {}, {}});
  }
  steps_.push_back(std::move(pending));
  return steps_.back().texts;
}

void RolloutReader::write(std::vector<WrittenText> texts) {
  D9D_CHECK(written_ < steps_.size() && texts.size() == steps_[written_].texts.size(),
            "{} texts came, and nobody waits for so many", texts.size());
  auto rollout = steps_[written_++].texts.begin();
  for (WrittenText& text : texts) {
    rollout->text = std::move(text.ids);
    rollout->log_probs = std::move(text.log_probs);
    ++rollout;
  }
}

void RolloutReader::read_step() {
  D9D_CHECK(written_ > 0, "the texts of step {} are not here", read_ + 1);
  const Pending pending = std::move(steps_.front());
  steps_.pop_front();
  --written_;
  ++read_;
  step_ = stream_->samples(pending.step, pending.texts);
  taken_ = 0;
  D9D_REQUIRE(std::ssize(step_) == samples_, "the stream of rollouts made {} for step {}; expected {}",
              counted(step_.size(), "sample"), read_, samples_);
  state_ = stream_->state();
}

std::vector<Sample> RolloutReader::take(std::size_t count) {
  D9D_CHECK(taken_ + count <= step_.size(), "{} samples of a step of {}", taken_ + count, step_.size());
  const auto begin = std::make_move_iterator(step_.begin() + static_cast<std::ptrdiff_t>(taken_));
  taken_ += count;
  return {begin, begin + static_cast<std::ptrdiff_t>(count)};
}

std::string RolloutReader::state() const {
  D9D_CHECK(std::ssize(steps_) == options_.lag && written_ == steps_.size(),
            "{} of {} steps have texts, the lag is {}", written_, steps_.size(), options_.lag);
  nlohmann::json pending = nlohmann::json::array();
  std::size_t tokens = 0;
  for (const Pending& step : steps_) {
    tokens += tokens_of(step.texts);
    D9D_REQUIRE(tokens <= waiting_tokens_max,
                "the rollouts that wait for later steps have more than {} tokens, which a checkpoint's state "
                "does not hold; set the lag to 0, or give each data replica fewer texts in a step",
                waiting_tokens_max);
    nlohmann::json texts = nlohmann::json::array();
    for (const Rollout& text : step.texts) texts.push_back(to_json(text));
    const auto before = static_cast<std::uint64_t>(place_.replica * samples_);
    pending.push_back({{"first", step.step.first - before}, {"texts", std::move(texts)}});
  }
  return json_text(nlohmann::json{{"replica", place_.replica},
                                  {"state", {{"stream", state_}, {"pending", std::move(pending)}}}});
}

}  // namespace d9d
