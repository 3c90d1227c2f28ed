#pragma once
// `trainer.pipelining.schedule` (reference A.5): how the structs of the pipeline's schedules are read.

#include <boost/describe/class.hpp>
#include <boost/describe/enum.hpp>

#include <array>

#include "runtime/base/config/keys.hpp"
#include "runtime/pipeline/program/schedule_config.hpp"

namespace d9d {

BOOST_DESCRIBE_STRUCT(GpipeSchedule, (), ())

BOOST_DESCRIBE_STRUCT(LoopedBfsSchedule, (), (num_stages_per_rank))
constexpr auto keys_of(config::Tag<LoopedBfsSchedule>) {
  return std::array{config::Key{"num_stages_per_rank", "stages", "stages of each pipeline rank",
                                config::required, config::at_least(1)}};
}

BOOST_DESCRIBE_ENUM(Warmup, textbook, deep)
BOOST_DESCRIBE_STRUCT(OneFOneBSchedule, (), (num_stages_per_rank, zero_bubble, warmup))
constexpr auto keys_of(config::Tag<OneFOneBSchedule>) {
  using namespace config;
  return std::array{
      Key{"num_stages_per_rank", "stages", "stages of each pipeline rank; more than 1 interleaves them",
          config::optional, at_least(1)},
      Key{"zero_bubble", "", "split backwards and fill the bubble with weight gradients (ZB-H1)"},
      Key{"warmup", "",
          "forwards before the first backward: as few as possible, or twice as many (the original's "
          "programs)"},
  };
}

BOOST_DESCRIBE_STRUCT(ZeroBubbleVSchedule, (), ())

BOOST_DESCRIBE_STRUCT(DualPipeVSchedule, (), ())

BOOST_DESCRIBE_ENUM(TopologyKind, loop, v)
BOOST_DESCRIBE_STRUCT(AutoSchedule, (), (num_stages_per_rank, topology, activations_max, measured_steps))
constexpr auto keys_of(config::Tag<AutoSchedule>) {
  using namespace config;
  return std::array{
      Key{"num_stages_per_rank", "stages", "stages of each pipeline rank", config::optional, at_least(1)},
      Key{"topology", "", "how several stages lie on the ranks: round and round, or down and back up"},
      Key{"activations_max", "stage-microbatches",
          "what a rank may hold between a forward and the end of its weight gradients; null: what 1f1b with "
          "one stage per rank holds on its first rank (pipeline_parallel x num_stages_per_rank)",
          config::optional, at_least(1)},
      Key{"measured_steps", "steps",
          "timed after the first step, in turn with full and split backwards, before the program is chosen",
          config::optional, at_least(2)},
  };
}

BOOST_DESCRIBE_STRUCT(InferenceSchedule, (), ())

constexpr auto choices_of(config::Tag<ScheduleConfig>) {
  return config::Choices<7>{
      "schedule",
      {{{GpipeSchedule::name, "All forwards, then all backwards; one stage per rank."},
        {LoopedBfsSchedule::name, "Breadth first over several stages per rank."},
        {OneFOneBSchedule::name, "One forward, one backward."},
        {ZeroBubbleVSchedule::name, "Two stages per rank in a V, split backwards."},
        {DualPipeVSchedule::name,
         "Two stages per rank in a V, forward and backward overlapped; microbatches >= 2 x "
         "pipeline_parallel."},
        {AutoSchedule::name,
         "The first steps measure what forwards, backwards and transfers take; then the program with the "
         "least simulated makespan is run, never a worse one than the best of the schedules above with as "
         "many stages."},
        {InferenceSchedule::name, "Forwards only."}}}};
}

}  // namespace d9d
