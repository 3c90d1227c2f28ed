#include "runtime/job/step_phases.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "runtime/base/error.hpp"
#include "runtime/job/job_config.hpp"

namespace d9d {

StepPhases::StepPhases(std::vector<StepPhase> phases) : phases_(std::move(phases)) {
  if (phases_.empty()) phases_.emplace_back();
  std::set<std::string> names;
  std::set<int> batches;
  for (const StepPhase& phase : phases_) {
    D9D_REQUIRE(phases_.size() == 1 || !phase.name.empty(), "a phase of the task's step has no name");
    D9D_REQUIRE(names.insert(phase.name).second, "two phases of the task's step have the name \"{}\"",
                phase.name);
    batches.insert(phase.batch);
  }
  num_batches_ = static_cast<int>(batches.size());
  D9D_REQUIRE(
      *batches.begin() == 0 && *batches.rbegin() == num_batches_ - 1,
      "the phases of the task's step have batches up to {}, but only {} of them; number them 0, 1, ...",
      *batches.rbegin(), num_batches_);
  const auto is_forward = [](const StepPhase& phase) { return phase.kind == PhaseKind::forward; };
  const auto first_training = std::find_if_not(phases_.begin(), phases_.end(), is_forward);
  D9D_REQUIRE(first_training != phases_.end(), "the task's step has no phase that trains");
  num_forward_ = static_cast<int>(first_training - phases_.begin());
  const auto late = std::find_if(first_training, phases_.end(), is_forward);
  D9D_REQUIRE(
      late == phases_.end(),
      "the forward phase \"{}\" of the task's step comes behind a phase that trains; put it before: the "
      "weights are the same, since they are updated at the end of the step",
      late->name);
}

void require_phases(const JobConfig& job, const StepPhases& phases) {
  const BatchingConfig& batching = job.trainer.batching;
  const std::int64_t unit = job.mesh.data_parallel() * batching.microbatch_size * phases.num_batches();
  D9D_REQUIRE(
      batching.global_batch_size % unit == 0,
      "trainer.batching.global_batch_size: {} is not divisible by the batches of the task's step ({}) x "
      "data replicas ({}) x microbatch_size ({}); give a multiple of {}",
      batching.global_batch_size, phases.num_batches(), job.mesh.data_parallel(), batching.microbatch_size,
      unit);
  const std::int64_t trained =
      (phases.size() - phases.num_forward()) * (microbatches_per_step(job) / phases.num_batches());
  D9D_REQUIRE(
      serves(job.trainer.pipelining.schedule, job.mesh.pipeline_parallel, trained),
      "trainer.pipelining.schedule: dual_pipe_v needs at least 2 x pipeline_parallel ({}) microbatches, the "
      "task's step trains {}; raise global_batch_size or lower microbatch_size",
      job.mesh.pipeline_parallel, trained);
}

}  // namespace d9d
