#include "runtime/job/section/inference_config.hpp"

namespace d9d {

TrainerConfig as_trainer(const InferenceConfig& inference) {
  TrainerConfig trainer;
  trainer.run = inference.run;
  trainer.batching = inference.batching;
  trainer.schedule = inference.schedule;
  trainer.data_prefetch = inference.data_prefetch;
  trainer.data_loading = inference.data_loading;
  trainer.model_stage_factory = inference.model_stage_factory;
  trainer.determinism = inference.determinism;
  trainer.checkpointing = inference.checkpointing;
  trainer.profiling = inference.profiling;
  trainer.timeout = inference.timeout;
  trainer.pipelining.schedule = InferenceSchedule{};
  trainer.logging.tracker = {{NullTracker{}}};
  trainer.logging.period_steps = config::Period::disable();  // an inference task has no metrics
  return trainer;
}

}  // namespace d9d
