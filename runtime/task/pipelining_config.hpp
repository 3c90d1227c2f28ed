#pragma once
// Section `trainer.pipelining`.

#include <boost/describe/class.hpp>
#include <boost/describe/enum.hpp>

#include <array>

#include "runtime/base/config/keys.hpp"
#include "runtime/task/pipeline_schedule_config.hpp"

namespace d9d {

enum class ActionOrder { static_, dynamic };
BOOST_DESCRIBE_ENUM(ActionOrder, static_, dynamic)

enum class LayerSplit { even, costs };
BOOST_DESCRIBE_ENUM(LayerSplit, even, costs)

struct PipeliningConfig {
  PipelineScheduleConfig schedule;
  ActionOrder order = ActionOrder::static_;
  LayerSplit layer_split = LayerSplit::even;
};
BOOST_DESCRIBE_STRUCT(PipeliningConfig, (), (schedule, order, layer_split))
constexpr auto keys_of(config::Tag<PipeliningConfig>) {
  using namespace config;
  return std::array{
      Key{"schedule", "", "the order in which stages run microbatches"},
      Key{"order", "", "static: exactly the program; dynamic: any action that is ready, by priority"},
      Key{"layer_split", "",
          "layers over stages: even, with the model's virtual layers; costs: so that the stage with the most "
          "operations, head included, has as few as can be"},
  };
}

std::int64_t stages_per_rank(const PipelineScheduleConfig& schedule);

}  // namespace d9d
