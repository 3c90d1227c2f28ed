// Data: phrases of random tokens, each said again and again until the sample
// is full. The first time nothing can be known of it, so only the repetitions
// count in the loss: what a model learns here is to copy from its context.
#include <boost/describe/class.hpp>

#include "mine.hpp"
#include "runtime/base/config/decode.hpp"
#include "runtime/base/config/keys.hpp"
#include "runtime/task/registry.hpp"

#include "runtime/base/error.hpp"
#include "runtime/base/rng.hpp"
#include "runtime/data/sample_source.hpp"

namespace mine {

struct RepeatsConfig {
  std::int64_t vocab_size = 0;
  std::int64_t sequence_length = 0;
  std::int64_t phrase = 8;
  std::int64_t samples = 1024;
  std::array<std::int64_t, 2> spoiled = {0, 0};
};
BOOST_DESCRIBE_STRUCT(RepeatsConfig, (), (vocab_size, sequence_length, phrase, samples, spoiled))
constexpr auto keys_of(d9d::config::Tag<RepeatsConfig>) {
  using namespace d9d::config;
  return std::array{Key{"vocab_size", "tokens", "ids are below this", required, at_least(1)},
                    Key{"sequence_length", "tokens", "length of a sample", required, at_least(2)},
                    Key{"phrase", "tokens", "what is repeated", d9d::config::optional, at_least(1)},
                    Key{"samples", "", "of an epoch", d9d::config::optional, at_least(1)},
                    Key{"spoiled", "samples",
                        "from the first to before the second with ids that no other has: the loss jumps"}};
}

namespace {

class Repeats final : public d9d::SampleSource {
 public:
  Repeats(const RepeatsConfig& config, std::uint64_t seed) : config_(config), seed_(seed) {}

  std::optional<std::uint64_t> num_samples() const override {
    return static_cast<std::uint64_t>(config_.samples);
  }
  std::int64_t sequence_length() const override { return config_.sequence_length; }
  std::optional<std::int64_t> vocab_size() const override {
    return config_.vocab_size * (config_.spoiled[0] < config_.spoiled[1] ? 2 : 1);
  }

  // A pure function of the index, in every epoch the same but for what is spoiled: so a run may go on with other ranks.
  d9d::Sample at(std::uint64_t index) const override {
    const d9d::RandomStream phrases(seed_, "phrases", index % *num_samples());
    const auto vocabulary = static_cast<std::uint64_t>(config_.vocab_size);
    const auto number = static_cast<std::int64_t>(index);
    const bool spoils = config_.spoiled[0] <= number && number < config_.spoiled[1];
    d9d::Sample sample;
    for (std::int64_t t = 0; t <= config_.sequence_length; ++t) {
      const auto token = phrases.below(static_cast<std::uint64_t>(t % config_.phrase), vocabulary) +
                         (spoils ? vocabulary : 0);
      if (t < config_.sequence_length) sample.input_ids.push_back(static_cast<std::int64_t>(token));
      if (t > 0)
        sample.labels.push_back(t < config_.phrase ? d9d::ignored_label : static_cast<std::int64_t>(token));
    }
    return sample;
  }

 private:
  const RepeatsConfig config_;
  const std::uint64_t seed_;
};

}  // namespace

void add_repeats(d9d::Registry& registry) {
  registry.add_source("repeats", [](const d9d::config::Section& section, const d9d::SourceContext& context) {
    const auto config = d9d::config::decode<RepeatsConfig>(section);
    D9D_REQUIRE(config.phrase < config.sequence_length,
                "data.phrase: {} tokens leave no room for a repetition in {}; give fewer", config.phrase,
                config.sequence_length);
    return std::make_shared<Repeats>(config, context.seed);
  });
}

}  // namespace mine
