#include "runtime/job/own_schedule_check.hpp"

#include "runtime/family/family_model.hpp"
#include "runtime/nn/size/model_costs.hpp"
#include "runtime/pipeline/program/build_program.hpp"

namespace d9d {

void require_own_schedule(const OwnSchedule& schedule, const LoadedJob& loaded, const StepPhases& phases) {
  const JobConfig& job = loaded.job;
  const int ranks = job.mesh.pipeline_parallel;
  const std::int64_t of_a_phase = microbatches_per_step(job) / phases.num_batches();
  for (int update = 0; update < phases.num_updates(); ++update) {
    const PipelineProgram program =
        build_program(schedule, ranks, static_cast<int>(phases.num_training(update) * of_a_phase));
    D9D_REQUIRE(program.has_backward, "the schedule \"{}\" runs no backwards, so it cannot train",
                schedule.name);
    if (loaded.model) layers_of_stages(*loaded.model, program.topology.num_stages(), loaded.split);
  }
}

}  // namespace d9d
