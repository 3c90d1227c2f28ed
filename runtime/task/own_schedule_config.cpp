#include "runtime/task/own_schedule_config.hpp"

#include "runtime/family/family_model.hpp"
#include "runtime/nn/model/model_costs.hpp"
#include "runtime/pipeline/program/build_program.hpp"
#include "runtime/task/job_load.hpp"
#include "runtime/task/step_phases.hpp"

namespace d9d {
namespace {

constexpr std::string_view schedule_key = "schedule";

}  // namespace

bool config::Codec<OwnSchedule>::read(OwnSchedule& out, const Node& node, const Path& path,
                                      Problems& problems) {
  return Codec<Named>::read(out, node, path, problems, schedule_key);
}

config::Json config::Codec<OwnSchedule>::write(const OwnSchedule& schedule) {
  return Codec<Named>::write(schedule, schedule_key);
}

void config::Codec<OwnSchedule>::tables(Reference& reference, const std::string& path,
                                        const OwnSchedule& own) {
  Codec<Named>::tables(reference, path, own, schedule_key);
}

void require_own_schedule(const OwnSchedule& schedule, const LoadedJob& loaded, const StepPhases& phases) {
  const JobConfig& job = loaded.job;
  const int ranks = job.mesh.pipeline_parallel;
  const auto microbatches = static_cast<int>((phases.size() - phases.num_forward()) *
                                             (microbatches_per_step(job) / phases.num_batches()));
  const PipelineProgram program = build_program(schedule, ranks, microbatches);
  D9D_REQUIRE(program.has_backward, "the schedule \"{}\" runs no backwards, so it cannot train",
              schedule.name);
  if (loaded.model) layers_of_stages(*loaded.model, program.topology.num_stages(), loaded.split);
}

}  // namespace d9d
