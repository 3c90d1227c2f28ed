#pragma once
// `trainer.pipelining.schedule` with `schedule: auto`.

#include <boost/describe/class.hpp>
#include <boost/describe/enum.hpp>

#include <array>
#include <cstdint>
#include <optional>

#include "runtime/base/config/keys.hpp"

namespace d9d {

enum class StageTopology { loop, v };
BOOST_DESCRIBE_ENUM(StageTopology, loop, v)

// The stages of a rank are fixed when the model is built; the search chooses order and split backwards.
struct AutoScheduleConfig {
  std::int64_t num_stages_per_rank = 1;
  StageTopology topology = StageTopology::loop;
  std::optional<std::int64_t> activations_max;
  std::int64_t measured_steps = 4;
};
BOOST_DESCRIBE_STRUCT(AutoScheduleConfig, (),
                      (num_stages_per_rank, topology, activations_max, measured_steps))
constexpr auto keys_of(config::Tag<AutoScheduleConfig>) {
  using namespace config;
  return std::array{
      Key{"num_stages_per_rank", "stages", "stages of each pipeline rank", config::optional, at_least(1)},
      Key{"topology", "", "how several stages lie on the ranks: round and round, or down and back up"},
      Key{"activations_max", "stage-microbatches",
          "what a rank may hold between a forward and the end of its weight gradients; null: what 1f1b with "
          "one "
          "stage per rank holds on its first rank (pipeline_parallel x num_stages_per_rank)",
          config::optional, at_least(1)},
      Key{"measured_steps", "steps",
          "timed behind the first step, in turn with full and split backwards, before the program is chosen",
          config::optional, at_least(2)},
  };
}

}  // namespace d9d
