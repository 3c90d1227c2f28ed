#pragma once
// Section `trainer.pipelining`.

#include <boost/describe/class.hpp>
#include <boost/describe/enum.hpp>

#include <array>

#include "runtime/base/config/keys.hpp"
#include "runtime/job/section/pipeline_schedule_config.hpp"
#include "runtime/pipeline/lane/overlap.hpp"
#include "runtime/pipeline/order/cursor_order.hpp"

namespace d9d {

BOOST_DESCRIBE_ENUM(CursorOrder, static_, dynamic)
BOOST_DESCRIBE_ENUM(Overlap, auto_, always, never)

enum class LayerSplit { even, costs };
BOOST_DESCRIBE_ENUM(LayerSplit, even, costs)

struct PipeliningConfig {
  ScheduleConfig schedule;
  CursorOrder order = CursorOrder::static_;
  int extra_activations = 0;
  LayerSplit layer_split = LayerSplit::even;
  Overlap overlap = Overlap::auto_;
};
BOOST_DESCRIBE_STRUCT(PipeliningConfig, (), (schedule, order, extra_activations, layer_split, overlap))
constexpr auto keys_of(config::Tag<PipeliningConfig>) {
  using namespace config;
  return std::array{
      Key{"schedule", "", "the order in which stages run microbatches"},
      Key{"order", "",
          "static: exactly the program; dynamic: another action while the next one is late, with the same "
          "numbers"},
      Key{"extra_activations", "activations",
          "order dynamic: how many more than its program a rank may hold, to have more to go on with",
          Need::optional, at_least(0)},
      Key{"layer_split", "",
          "layers over stages: even, with the model's virtual layers; costs: so that the stage with the most "
          "operations, head included, has as few as can be"},
      Key{"overlap", "",
          "the parts of composed actions (dual_pipe_v, auto on a V) at the same time: on CPUs one computes "
          "while the other exchanges with other ranks, on devices each has a compute stream of its own; "
          "auto: on CPUs always, on devices never, because no GPU has run it yet"},
  };
}

}  // namespace d9d
