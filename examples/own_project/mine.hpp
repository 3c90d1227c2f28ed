#pragma once
// What this library brings, and what its sections of a job file may say.

#include <boost/describe/class.hpp>

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/base/config/keys.hpp"
#include "runtime/task/optimizer_keys.hpp"
#include "runtime/task/registry.hpp"

namespace d9d {
class Actor;
class LrSchedule;
class ModelProvider;
class OptimizerProvider;
class TrainTask;
struct World;
}  // namespace d9d

namespace mine {

struct SmoothedConfig {
  double smoothing = 0.1;
  double z_loss = 0;
};
BOOST_DESCRIBE_STRUCT(SmoothedConfig, (), (smoothing, z_loss))
constexpr auto keys_of(d9d::config::Tag<SmoothedConfig>) {
  using namespace d9d::config;
  return std::array{
      Key{"smoothing", "", "share of the target spread over all tokens", d9d::config::optional, below_one()},
      Key{"z_loss", "", "weight of the squared log-sum-exp", d9d::config::optional, at_least(0)}};
}

struct ConvolutionConfig {
  std::int64_t vocab_size = 0;
  std::int64_t width = 64;
  std::int64_t layers = 4;
};
BOOST_DESCRIBE_STRUCT(ConvolutionConfig, (), (vocab_size, width, layers))
constexpr auto keys_of(d9d::config::Tag<ConvolutionConfig>) {
  using namespace d9d::config;
  return std::array{Key{"vocab_size", "tokens", "size of the vocabulary", required, at_least(1)},
                    Key{"width", "", "width of the residual stream", d9d::config::optional, at_least(1)},
                    Key{"layers", "", "layer i looks back 2^i tokens", d9d::config::optional, within(1, 20)}};
}

struct LionConfig {
  double lr = 0;
  std::array<double, 2> betas = {0.9, 0.99};
  double weight_decay = 0;
  std::vector<d9d::ParameterRule> rules;
};
BOOST_DESCRIBE_STRUCT(LionConfig, (), (lr, betas, weight_decay, rules))
constexpr auto keys_of(d9d::config::Tag<LionConfig>) {
  using namespace d9d::config;
  return std::array{Key{"lr", "", "learning rate at multiplier 1", required, above(0)},
                    Key{"betas", "", "shares of the momentum in the direction, and in the next momentum",
                        d9d::config::optional, below_one()},
                    Key{"weight_decay", "", "times the learning rate", d9d::config::optional, at_least(0)},
                    d9d::optimizer_keys::rules};
}

struct InverseRootConfig {
  std::int64_t warmup = 0;
};
BOOST_DESCRIBE_STRUCT(InverseRootConfig, (), (warmup))
constexpr auto keys_of(d9d::config::Tag<InverseRootConfig>) {
  using namespace d9d::config;
  return std::array{Key{"warmup", "steps", "steps until the largest learning rate", required, at_least(1)}};
}

struct TableConfig {
  std::string file = "table.csv";
};
BOOST_DESCRIBE_STRUCT(TableConfig, (), (file))
constexpr auto keys_of(d9d::config::Tag<TableConfig>) {
  return std::array{d9d::config::Key{"file", "", "its name in the run's folder"}};
}

struct GuardConfig {
  double limit = 3;
  std::uint64_t quiet = 10;
};
BOOST_DESCRIBE_STRUCT(GuardConfig, (), (limit, quiet))
constexpr auto keys_of(d9d::config::Tag<GuardConfig>) {
  using namespace d9d::config;
  return std::array{
      Key{"limit", "times the mean", "a loss above this is a spike", d9d::config::optional, above(1)},
      Key{"quiet", "steps", "in which nothing is a spike"}};
}

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

std::shared_ptr<d9d::TrainTask> make_smoothed_task(const SmoothedConfig& config);
std::shared_ptr<const d9d::ModelProvider> make_convolution_model(const ConvolutionConfig& config);
std::shared_ptr<const d9d::OptimizerProvider> make_lion(const LionConfig& config);
std::shared_ptr<const d9d::LrSchedule> make_inverse_root(const InverseRootConfig& config);
d9d::OpenTracker make_table(const TableConfig& config);
std::unique_ptr<d9d::Actor> make_sampler(d9d::World& world, const SamplerConfig& config);
std::unique_ptr<d9d::Actor> make_spike_guard(d9d::World& world, const GuardConfig& config);

}  // namespace mine
