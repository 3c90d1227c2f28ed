#pragma once
// `trainer.pipelining.schedule` (reference A.5).

#include <boost/describe/class.hpp>
#include <boost/describe/enum.hpp>

#include <array>
#include <cstdint>
#include <variant>

#include "runtime/base/config/keys.hpp"
#include "runtime/task/auto_schedule_config.hpp"

namespace d9d {

struct InferenceConfig {};
BOOST_DESCRIBE_STRUCT(InferenceConfig, (), ())
constexpr auto keys_of(config::Tag<InferenceConfig>) {
  return std::array<config::Key, 0>{};
}

struct GpipeConfig {};
BOOST_DESCRIBE_STRUCT(GpipeConfig, (), ())
constexpr auto keys_of(config::Tag<GpipeConfig>) {
  return std::array<config::Key, 0>{};
}

struct LoopedBfsConfig {
  std::int64_t num_stages_per_rank = 0;
};
BOOST_DESCRIBE_STRUCT(LoopedBfsConfig, (), (num_stages_per_rank))
constexpr auto keys_of(config::Tag<LoopedBfsConfig>) {
  return std::array{config::Key{"num_stages_per_rank", "stages", "stages of each pipeline rank",
                                config::required, config::at_least(1)}};
}

// `textbook` holds as few activations as 1F1B can; `deep` runs twice the warm-up, as the original does.
enum class WarmupDepth { textbook, deep };
BOOST_DESCRIBE_ENUM(WarmupDepth, textbook, deep)

struct OneFOneBConfig {
  std::int64_t num_stages_per_rank = 1;
  bool zero_bubble = false;
  WarmupDepth warmup = WarmupDepth::textbook;
};
BOOST_DESCRIBE_STRUCT(OneFOneBConfig, (), (num_stages_per_rank, zero_bubble, warmup))
constexpr auto keys_of(config::Tag<OneFOneBConfig>) {
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

struct ZeroBubbleVConfig {};
BOOST_DESCRIBE_STRUCT(ZeroBubbleVConfig, (), ())
constexpr auto keys_of(config::Tag<ZeroBubbleVConfig>) {
  return std::array<config::Key, 0>{};
}

struct DualPipeVConfig {};
BOOST_DESCRIBE_STRUCT(DualPipeVConfig, (), ())
constexpr auto keys_of(config::Tag<DualPipeVConfig>) {
  return std::array<config::Key, 0>{};
}

using PipelineScheduleConfig = std::variant<GpipeConfig, LoopedBfsConfig, OneFOneBConfig, ZeroBubbleVConfig,
                                            DualPipeVConfig, AutoScheduleConfig, InferenceConfig>;
constexpr auto choices_of(config::Tag<PipelineScheduleConfig>) {
  return config::Choices<7>{
      "schedule",
      {{{"gpipe", "All forwards, then all backwards; one stage per rank."},
        {"looped_bfs", "Breadth first over several stages per rank."},
        {"1f1b", "One forward, one backward."},
        {"zero_bubble_v", "Two stages per rank in a V, split backwards."},
        {"dual_pipe_v",
         "Two stages per rank in a V, forward and backward overlapped; microbatches >= 2 x "
         "pipeline_parallel."},
        {"auto",
         "The first steps measure what forwards, backwards and transfers take; then the program with the "
         "least "
         "simulated makespan is run, never a worse one than the best of the schedules above with as many "
         "stages."},
        {"inference", "Forwards only."}}}};
}

}  // namespace d9d
