#pragma once
// The section `inference` of a job, in the place of `trainer`: data goes through the model forward alone, and the task
// gets the outputs (reference A.2, `InferenceConfig`). The sections in it are those of `trainer`.

#include <boost/describe/class.hpp>

#include <array>
#include <optional>

#include "runtime/job/section/trainer_config.hpp"

namespace d9d {

struct InferenceConfig {
  RunConfig run;
  BatchingConfig batching;
  ScheduleConfigSection schedule;
  DataPrefetchConfig data_prefetch;
  DataLoadingConfig data_loading;
  ModelStageFactoryConfig model_stage_factory;
  DeterminismConfig determinism;
  CheckpointingConfig checkpointing;
  std::optional<ProfilingConfig> profiling;
  TimeoutConfig timeout;
};
BOOST_DESCRIBE_STRUCT(InferenceConfig, (),
                      (run, batching, schedule, data_prefetch, data_loading, model_stage_factory, determinism,
                       checkpointing, profiling, timeout))

constexpr auto keys_of(config::Tag<InferenceConfig>) {
  using namespace config;
  return std::array{
      Key{"run", "", "the run's name and notes", required},
      Key{"batching", "", "sizes of batches", required},
      Key{"schedule", "", "length of the run; left out: all of the data, once"},
      Key{"data_prefetch", "", "how far the loader reads ahead"},
      Key{"data_loading", "", "threads that read samples"},
      Key{"model_stage_factory", "", "where the weights come from"},
      Key{"determinism", "", "the seed; left out: seed 0"},
      Key{"checkpointing", "", "where to go on after a stop; left out: from the first sample"},
      Key{"profiling", "", "traces of some steps; null: only what `node.trace` says"},
      Key{"timeout", "", "deadlines of steps and checkpoints"},
  };
}

// The same as what the rest of the job reads; the program of its pipeline has forwards alone.
TrainerConfig as_trainer(const InferenceConfig& inference);

}  // namespace d9d
