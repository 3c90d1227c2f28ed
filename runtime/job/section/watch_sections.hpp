#pragma once
// The sections of `trainer` that watch a run: `profiling` and `timeout` (reference A.2, A.3).

#include <boost/describe/class.hpp>

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "runtime/base/config/keys.hpp"

namespace d9d {

struct ProfilingConfig {
  bool enabled = true;
  std::optional<std::string> traces_dir;
  std::int64_t period_steps = 0;
  std::int64_t active_steps = 0;
};
BOOST_DESCRIBE_STRUCT(ProfilingConfig, (), (enabled, traces_dir, period_steps, active_steps))
constexpr auto keys_of(config::Tag<ProfilingConfig>) {
  using namespace config;
  return std::array{
      Key{"enabled", "", "false: as if the section were not there (0.16)"},
      Key{"traces_dir", "", "folder of the traces; null: `<output_dir>/traces`"},
      Key{"period_steps", "steps", "length of a cycle: steps that are not recorded, then those that are",
          required, at_least(1)},
      Key{"active_steps", "steps",
          "steps at the end of a cycle that go to `step_<n>.trace.json.gz`, those of devices kernel by "
          "kernel; take 2 or more to see the optimizer's, the last step's come too late",
          required, at_least(1)}};
}

struct TimeoutConfig {
  std::int64_t init_timeout = 10000;
  std::int64_t step_timeout = 100;
  std::int64_t checkpoint_timeout = 3600;
  std::int64_t export_timeout = 3600;
};
BOOST_DESCRIBE_STRUCT(TimeoutConfig, (), (init_timeout, step_timeout, checkpoint_timeout, export_timeout))
constexpr auto keys_of(config::Tag<TimeoutConfig>) {
  using namespace config;
  return std::array{Key{"init_timeout", "s", "deadline of everything until the end of the first step",
                        config::optional, at_least(1)},
                    Key{"step_timeout", "s", "deadline of each later step", config::optional, at_least(1)},
                    Key{"checkpoint_timeout", "s",
                        "deadline of a checkpoint, from the copy of the parameters to the commit; see also "
                        "node.disk_timeout",
                        config::optional, at_least(1)},
                    Key{"export_timeout", "s", "deadline of the export after the last step", config::optional,
                        at_least(1)}};
}

}  // namespace d9d
