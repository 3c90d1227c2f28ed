#pragma once
// Section `trainer` (reference A.2, A.3): everything of a run that is neither model, data nor optimizer. Its parts
// are in trainer_sections.hpp, gradient_config.hpp, watch_sections.hpp, logging_config.hpp and pipelining_config.hpp.

#include <boost/describe/class.hpp>

#include <array>
#include <optional>

#include "runtime/base/config/keys.hpp"
#include "runtime/job/section/gradient_config.hpp"
#include "runtime/job/section/logging_config.hpp"
#include "runtime/job/section/pipelining_config.hpp"
#include "runtime/job/section/trainer_sections.hpp"
#include "runtime/job/section/watch_sections.hpp"

namespace d9d {

struct TrainerConfig {
  RunConfig run;
  BatchingConfig batching;
  ScheduleConfigSection schedule;
  DataPrefetchConfig data_prefetch;
  DataLoadingConfig data_loading;
  LoggingConfig logging;
  PipeliningConfig pipelining;
  ModelStageFactoryConfig model_stage_factory;
  DeterminismConfig determinism;
  CheckpointingConfig checkpointing;
  GradientClippingConfig gradient_clipping;
  NonFiniteOptions non_finite_gradients;
  GradientManagerConfig gradient_manager;
  std::optional<ProfilingConfig> profiling;
  TimeoutConfig timeout;
};
BOOST_DESCRIBE_STRUCT(TrainerConfig, (),
                      (run, batching, schedule, data_prefetch, data_loading, logging, pipelining,
                       model_stage_factory, determinism, checkpointing, gradient_clipping,
                       non_finite_gradients, gradient_manager, profiling, timeout))

constexpr auto keys_of(config::Tag<TrainerConfig>) {
  using namespace config;
  return std::array{
      Key{"run", "", "the run's name and notes", required},
      Key{"batching", "", "sizes of batches", required},
      Key{"schedule", "", "length of the run"},
      Key{"data_prefetch", "", "how far the loader reads ahead"},
      Key{"data_loading", "", "threads that read samples"},
      Key{"logging", "", "metrics and trackers; left out: every step, TensorBoard"},
      Key{"pipelining", "", "the pipeline's program"},
      Key{"model_stage_factory", "", "where the weights come from"},
      Key{"determinism", "", "the seed; left out: seed 0"},
      Key{"checkpointing", "", "checkpoints to resume from; left out: none are written"},
      Key{"gradient_clipping", "", "clipping by the global norm; left out: none"},
      Key{"non_finite_gradients", "", "what becomes of a step whose loss or gradient is infinite or NaN"},
      Key{"gradient_manager", "", "accumulation and reduction of gradients"},
      Key{"profiling", "", "the original's traces of some steps; null: only what `node.trace` says"},
      Key{"timeout", "", "deadlines of steps, checkpoints and the export"},
  };
}

}  // namespace d9d
