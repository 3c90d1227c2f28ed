#include "runtime/plugin/plugin_source.hpp"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "runtime/base/error.hpp"
#include "runtime/base/json_text.hpp"
#include "runtime/base/shortened.hpp"
#include "runtime/data/rollout_stream.hpp"
#include "runtime/data/sample_stream.hpp"
#include "runtime/task/user_call.hpp"

namespace d9d {

PluginSource::PluginSource(std::string name, std::shared_ptr<const SampleSource> inner,
                           std::optional<std::int64_t> ids_below, bool lengths_vary)
    : inner_(std::move(inner)), rule_{std::move(name), 0, ids_below, lengths_vary} {
  D9D_REQUIRE(inner_ != nullptr, "data: the factory of the data source \"{}\" made none", rule_.name);
  call_user(fmt::format("the data source \"{}\"", rule_.name), ErrorInside::is_named, [&] {
    num_samples_ = inner_->num_samples();
    rule_.sequence_length = inner_->sequence_length();
  });
  D9D_REQUIRE(
      rule_.sequence_length >= 1 && num_samples_ != std::uint64_t{0},
      "data: the source \"{}\" says that it has {} samples of {} tokens; expected at least one of each",
      rule_.name, num_samples_ ? std::to_string(*num_samples_) : "any number of", rule_.sequence_length);
}

Sample PluginSource::at(std::uint64_t index) const {
  Sample sample = call_user(fmt::format("sample {} of the data source \"{}\"", index, rule_.name),
                            ErrorInside::is_named, [&] { return inner_->at(index); });
  rule_.check(sample, index);
  return sample;
}

std::optional<std::int64_t> PluginSource::sort_key(std::uint64_t index) const {
  return call_user(fmt::format("the length of sample {} of the data source \"{}\"", index, rule_.name),
                   ErrorInside::is_named, [&] { return inner_->sort_key(index); });
}

namespace {

template <class Call>
auto call_source(const std::string& name, std::string_view what, Call&& call) {
  return call_user(fmt::format("{} of the data source \"{}\"", what, name), ErrorInside::is_named,
                   std::forward<Call>(call));
}

// Names the stream in what it throws. `Stream`: a ReplicaStream.
template <class Stream>
class Watched : public Stream {
 public:
  Watched(std::shared_ptr<Stream> inner, PluginSource::Rule rule)
      : inner_(std::move(inner)), rule_(std::move(rule)) {
    D9D_REQUIRE(inner_ != nullptr, "data: the source \"{}\" opened no stream", rule_.name);
  }
  std::int64_t sequence_length() const override { return rule_.sequence_length; }
  void begin(const StreamPlace& place) override {
    call_source(rule_.name, "the begin()", [&] { inner_->begin(place); });
  }
  nlohmann::json state() const override {
    nlohmann::json state = call_source(rule_.name, "the state()", [&] { return inner_->state(); });
    require_text(state);
    return state;
  }
  void load_state(const nlohmann::json& state) override {
    call_source(rule_.name, "the load_state()", [&] { inner_->load_state(state); });
  }
  void load_states(const std::vector<nlohmann::json>& states, const StreamPlace& place) override {
    call_source(rule_.name, "the load_states()", [&] { inner_->load_states(states, place); });
  }

 private:
  void require_text(const nlohmann::json& state) const {
    try {
      json_text(state);
    } catch (const nlohmann::json::type_error&) {
      throw Error(ErrorKind::environment,
                  fmt::format("the state() of the data source \"{}\" holds bytes that are no UTF-8, which a "
                              "checkpoint cannot keep: {}; write them as numbers",
                              rule_.name, shortened(shown_json(state))));
    }
  }

 protected:
  const std::shared_ptr<Stream> inner_;
  const PluginSource::Rule rule_;
  std::uint64_t given_ = 0;  // samples in this start
};

// Looks at its samples.
class WatchedStream final : public Watched<SampleStream> {
 public:
  using Watched::Watched;
  std::optional<Sample> next() override {
    std::optional<Sample> sample = call_source(rule_.name, "the next sample", [&] { return inner_->next(); });
    if (sample) rule_.check(*sample, given_++);
    return sample;
  }
};

// A reward that is no number would make the step's loss none, and with it all weights.
void require_numbers(const Sample& sample, std::size_t place, const RolloutStep& step,
                     const std::string& source) {
  for (const auto& [name, numbers] : sample.numbers) {
    const auto bad = std::ranges::find_if_not(numbers, [](float number) { return std::isfinite(number); });
    D9D_REQUIRE(
        bad == numbers.end(),
        "sample {} that the data source \"{}\" made of the texts of step {} has {} = {}; expected a number "
        "(is a reward divided by zero?)",
        place, source, step.step, name, *bad);
  }
}

// Looks at prompts, too.
class WatchedRollouts final : public Watched<RolloutStream> {
 public:
  using Watched::Watched;
  RolloutOptions options() const override {
    return call_source(rule_.name, "the options()", [&] { return inner_->options(); });
  }
  std::vector<std::vector<std::int64_t>> prompts(const RolloutStep& step) override {
    auto prompts =
        call_source(rule_.name, of_step("the prompts()", step), [&] { return inner_->prompts(step); });
    for (std::size_t i = 0; i < prompts.size(); ++i) rule_.check_ids(prompts[i], i, "prompt");
    return prompts;
  }
  std::vector<Sample> samples(const RolloutStep& step, std::span<const Rollout> texts) override {
    auto samples =
        call_source(rule_.name, of_step("the samples()", step), [&] { return inner_->samples(step, texts); });
    for (std::size_t i = 0; i < samples.size(); ++i) {
      rule_.check(samples[i], given_++);
      require_numbers(samples[i], i, step, rule_.name);
    }
    return samples;
  }

 private:
  static std::string of_step(const char* what, const RolloutStep& step) {
    return fmt::format("{} of step {}", what, step.step);
  }
};

}  // namespace

std::shared_ptr<SampleStream> PluginSource::open_stream() const {
  if (!is_stream() || is_rollouts()) return nullptr;
  return std::make_shared<WatchedStream>(
      call_user(fmt::format("the data source \"{}\"", rule_.name), ErrorInside::is_named,
                [&] { return inner_->open_stream(); }),
      rule_);
}

std::shared_ptr<RolloutStream> PluginSource::open_rollouts() const {
  if (!is_rollouts()) return nullptr;
  return std::make_shared<WatchedRollouts>(
      call_user(fmt::format("the data source \"{}\"", rule_.name), ErrorInside::is_named,
                [&] { return inner_->open_rollouts(); }),
      rule_);
}

void PluginSource::Rule::check_ids(std::span<const std::int64_t> ids, std::uint64_t index,
                                   const char* whose) const {
  const auto bad = std::ranges::find_if_not(ids, [&](std::int64_t id) { return is_id(id); });
  D9D_REQUIRE(bad == ids.end(), "{} {} of the data source \"{}\" holds the token {}, expected at least 0{}",
              whose, index, name, *bad, limit());
}

std::string PluginSource::Rule::limit() const {
  return ids_below ? fmt::format(" and less than {}", *ids_below) : "";
}

void PluginSource::Rule::check(const Sample& sample, std::uint64_t index) const {
  const auto length = static_cast<std::size_t>(sequence_length);
  const auto fits = [&](std::size_t size) { return lengths_vary ? size <= length : size == length; };
  D9D_REQUIRE(
      fits(sample.input_ids.size()) && fits(sample.labels.size()),
      "sample {} of the data source \"{}\" has {} inputs and {} labels, but the source says that each has "
      "{}{}; fill them up with labels of {}",
      index, name, sample.input_ids.size(), sample.labels.size(), lengths_vary ? "at most " : "", length,
      ignored_label);
  const auto is_label = [&](std::int64_t label) { return label == ignored_label || is_id(label); };
  check_ids(sample.input_ids, index, "sample");
  const auto label = std::ranges::find_if_not(sample.labels, is_label);
  D9D_REQUIRE(label == sample.labels.end(),
              "sample {} of the data source \"{}\" holds the label {}, expected {} or at least 0{}", index,
              name, *label, ignored_label, limit());
}

}  // namespace d9d
