#pragma once
// Section `trainer.logging` (A.2).

#include <boost/describe/class.hpp>

#include <array>
#include <cstdint>

#include "runtime/base/config/codec_maps.hpp"
#include "runtime/base/config/keys.hpp"
#include "runtime/base/config/period.hpp"
#include "runtime/task/logged_load.hpp"
#include "runtime/task/tracker_config.hpp"

namespace d9d {

struct LoggingConfig {
  config::Period period_steps = config::Period::every(1);
  LoggedLoad expert_load = LoggedLoad::none;
  config::OneOrMany<TrackerConfig> tracker = {{TensorboardTracker{}}};
  std::int64_t max_pending_steps = 2;
};
BOOST_DESCRIBE_STRUCT(LoggingConfig, (), (period_steps, expert_load, tracker, max_pending_steps))
constexpr auto keys_of(config::Tag<LoggingConfig>) {
  using namespace config;
  return std::array{
      Key{"period_steps", "steps", "period of the task's metrics; loss and gradient norm go every step",
          required},
      Key{"expert_load", "",
          "how evenly tokens go to experts: those of a layer's largest and smallest expert over the mean of "
          "its experts. model: of the most uneven layers; layers: of each layer as well"},
      Key{"tracker", "", "where numbers go, one or several"},
      Key{"max_pending_steps", "steps", "how far logged values may lag behind the training", config::optional,
          at_least(1), "values travel as messages and training never waits for them"},
  };
}

}  // namespace d9d
