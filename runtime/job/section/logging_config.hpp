#pragma once
// Section `trainer.logging` (A.2).

#include <boost/describe/class.hpp>
#include <boost/describe/enum.hpp>

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "runtime/base/config/codec_maps.hpp"
#include "runtime/base/config/keys.hpp"
#include "runtime/base/config/period.hpp"
#include "runtime/job/section/tracker_config.hpp"

namespace d9d {

// Which loads of experts are logged: none, the extremes of the model, those of each layer as well.
enum class LoggedLoad { none, model, layers };
BOOST_DESCRIBE_ENUM(LoggedLoad, none, model, layers)

struct LoggingConfig {
  config::Period period_steps = config::Period::every(1);
  LoggedLoad expert_load = LoggedLoad::none;
  std::map<std::string, std::string> statistics;
  bool histograms = false;
  std::optional<double> peak_flops;
  bool measure_peak = false;
  std::optional<std::int64_t> max_pending_steps;
  config::OneOrMany<TrackerConfig> tracker = {{TensorboardTracker{}}};
};
BOOST_DESCRIBE_STRUCT(LoggingConfig, (),
                      (period_steps, expert_load, statistics, histograms, peak_flops, measure_peak,
                       max_pending_steps, tracker))
constexpr auto keys_of(config::Tag<LoggingConfig>) {
  using namespace config;
  return std::array{
      Key{"period_steps", "steps", "period of the task's metrics; loss and gradient norm go every step",
          required},
      Key{"expert_load", "",
          "how evenly tokens go to experts: those of a layer's largest and smallest expert over the mean of "
          "its experts. model: of the most uneven layers; layers: of each layer as well"},
      Key{"statistics", "",
          "groups of trainable parameters by patterns of their names, as in {attention: \"*.self_attn.*\", "
          "all: \"*\"}: norm, mean, largest magnitude and what is not finite of their gradients (of the mean "
          "loss, before clipping) and of themselves, every period_steps"},
      Key{"histograms", "", "histograms of the groups of `statistics` as well"},
      Key{"peak_flops", "FLOP/s",
          "what the device of a rank can do at most; then flops_per_second, and mfu: their share of all "
          "ranks' peak, are logged",
          optional, above(0)},
      Key{"measure_peak", "",
          "instead of peak_flops: node 0 multiplies matrices in the model's dtype on all its ranks' cores "
          "before the first step, for less than a second, and takes the best rate for its peak and that of "
          "nodes like it"},
      Key{"max_pending_steps", "steps",
          "a step's numbers are summed only when the trackers have those of the step this many before it, so "
          "slow trackers slow the job; null: training never waits for them",
          optional, at_least(1)},
      Key{"tracker", "", "where numbers go, one or several"},
  };
}

}  // namespace d9d
