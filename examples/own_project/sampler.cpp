// An actor: every n steps it has the model that trains go on with some prompts, and writes the texts to the run's
// trackers. Training waits while they are made, and its numbers stay the same. Without a tokenizer a text is its ids.
#include <boost/describe/class.hpp>

#include <fmt/ranges.h>

#include <optional>
#include <sstream>

#include "actors/core/actor.hpp"
#include "actors/job/actor_registry.hpp"
#include "actors/text_messages.hpp"
#include "messages/event.capnp.h"
#include "messages/metrics.capnp.h"
#include "mine.hpp"
#include "runtime/base/config/decode.hpp"
#include "runtime/base/config/keys.hpp"
#include "runtime/data/tokenizer.hpp"

namespace mine {

struct SamplerConfig {
  std::int64_t every = 0;
  std::vector<std::string> prompts;
  std::optional<std::string> tokenizer;
  std::int64_t tokens = 32;
  double temperature = 0;
};
BOOST_DESCRIBE_STRUCT(SamplerConfig, (), (every, prompts, tokenizer, tokens, temperature))
constexpr auto keys_of(d9d::config::Tag<SamplerConfig>) {
  using namespace d9d::config;
  return std::array{
      Key{"every", "steps", "period of the samples", required, at_least(1)},
      Key{"prompts", "", "how the texts begin; without a tokenizer ids with spaces between", required},
      Key{"tokenizer", "", "a tokenizer.json or .model; null: texts are ids"},
      Key{"tokens", "", "new tokens of a text", d9d::config::optional, at_least(1)},
      Key{"temperature", "", "of the logits; 0: the most likely token", d9d::config::optional, at_least(0)}};
}

namespace {

namespace wire = d9d::wire;
using Ids = std::vector<std::int64_t>;

class Sampler final : public d9d::Actor {
 public:
  Sampler(d9d::World& world, const SamplerConfig& config) : Actor(world), config_(config) {
    if (config.tokenizer) tokenizer_ = d9d::Tokenizer::from_file(*config.tokenizer);
    request_.options.max_new_tokens = config.tokens;
    request_.options.temperature = config.temperature;
    for (const std::string& prompt : config.prompts) request_.prompts.push_back(ids_of(prompt));
  }

  void behavior(d9d::Handlers& handlers) override {
    handlers.on(this, &Sampler::event);
    handlers.on(this, &Sampler::texts_generated);
  }

  void started() override {
    tell<wire::Subscribe>({d9d::Role::event_bus, 0},
                          [](wire::Subscribe::Builder message) { message.setName("train.step.post"); });
  }

  void event(wire::Event::Reader message) {
    if (message.getStep() % static_cast<std::uint64_t>(config_.every) != 0) return;
    tell<wire::GenerateTexts>({d9d::Role::trainer, 0},
                              [this](wire::GenerateTexts::Builder ask) { d9d::fill_request(ask, request_); });
  }

  void texts_generated(wire::TextsGenerated::Reader message) {
    std::size_t prompt = 0;
    for (const auto text : message.getTexts()) {
      Ids ids;
      for (const std::int64_t id : text.getIds()) ids.push_back(id);
      tell<wire::RecordValue>({d9d::Role::tracker, 0}, [&](wire::RecordValue::Builder value) {
        value.setStep(message.getStep());
        value.setName(fmt::format("samples/{}", prompt));
        value.setText(config_.prompts.at(prompt) + " | " + text_of(ids));
      });
      ++prompt;
    }
  }

 private:
  Ids ids_of(const std::string& text) const {
    Ids ids;
    if (tokenizer_) {
      for (const std::int32_t id : tokenizer_->encode(text, false)) ids.push_back(id);
      return ids;
    }
    std::istringstream words(text);
    for (std::int64_t id; words >> id;) ids.push_back(id);
    return ids;
  }
  std::string text_of(const Ids& ids) const {
    if (!tokenizer_) return fmt::format("{}", fmt::join(ids, " "));
    return tokenizer_->decode(std::vector<std::int32_t>(ids.begin(), ids.end()));
  }

  const SamplerConfig config_;
  std::optional<d9d::Tokenizer> tokenizer_;
  d9d::TextRequest request_;
};

}  // namespace

void add_sampler(d9d::ActorRegistry& registry) {
  registry.add("sampler", [](d9d::World& world, const d9d::config::Section& section) {
    return std::make_unique<Sampler>(world, d9d::config::decode<SamplerConfig>(section));
  });
}

}  // namespace mine
