#include "runtime/job/step_phases.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "runtime/base/error.hpp"
#include "runtime/job/job_config.hpp"
#include "runtime/train/optimizer/parameter_rules.hpp"

namespace d9d {

StepPhases::StepPhases(std::vector<StepPhase> phases, std::vector<StepUpdate> updates)
    : phases_(std::move(phases)), updates_(std::move(updates)) {
  if (phases_.empty()) phases_.emplace_back();
  if (updates_.empty()) updates_.emplace_back();
  std::set<std::string> names;
  std::set<int> batches;
  for (const StepPhase& phase : phases_) {
    D9D_REQUIRE(phases_.size() == 1 || !phase.name.empty(), "a phase of the task's step has no name");
    D9D_REQUIRE(names.insert(phase.name).second, "two phases of the task's step have the name \"{}\"",
                phase.name);
    D9D_REQUIRE(phase.update >= 0 && phase.update < num_updates(),
                "the phase \"{}\" of the task's step leads to update {}, and updates() names {}, from 0 on",
                phase.name, phase.update, num_updates());
    batches.insert(phase.batch);
  }
  num_batches_ = static_cast<int>(batches.size());
  D9D_REQUIRE(
      *batches.begin() == 0 && *batches.rbegin() == num_batches_ - 1,
      "the phases of the task's step have batches up to {}, but only {} of them; number them 0, 1, ...",
      *batches.rbegin(), num_batches_);
  const auto early = std::is_sorted_until(phases_.begin(), phases_.end(),
                                          [](const auto& a, const auto& b) { return a.update < b.update; });
  D9D_REQUIRE(
      early == phases_.end(),
      "the phase \"{}\" of the task's step comes after one of a later update; order the phases by their "
      "updates",
      early->name);
  for (int update = 0; update < num_updates(); ++update) add_update(update);
}

void StepPhases::add_update(int update) {
  const auto is_forward = [](const StepPhase& phase) { return phase.kind == PhaseKind::forward; };
  const auto begin = phases_.begin() + begins_.back();
  const auto end =
      std::find_if(begin, phases_.end(), [&](const StepPhase& phase) { return phase.update > update; });
  const auto training = std::find_if_not(begin, end, is_forward);
  D9D_REQUIRE(training != end, "{} has no phase that trains",
              num_updates() == 1 ? "the task's step" : fmt::format("update {} of the task's step", update));
  const auto late = std::find_if(training, end, is_forward);
  D9D_REQUIRE(
      late == end,
      "the forward phase \"{}\" of the task's step comes after a phase that trains; put it before: the "
      "weights are the same, since they are updated at the end of all phases of an update",
      late->name);
  forwards_.push_back(static_cast<int>(training - begin));
  begins_.push_back(static_cast<int>(end - phases_.begin()));
}

std::vector<int> updates_that_move(const std::string& parameter, const std::vector<StepUpdate>& updates) {
  std::vector<int> moving;
  for (std::size_t i = 0; i < updates.size(); ++i) {
    const std::vector<std::string>& patterns = updates[i].parameters;
    const auto holds = [&](const std::string& pattern) { return matches(pattern, parameter); };
    if (patterns.empty() || std::any_of(patterns.begin(), patterns.end(), holds))
      moving.push_back(static_cast<int>(i));
  }
  return moving;
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
  for (int update = 0; update < phases.num_updates(); ++update) {
    const std::int64_t trained =
        phases.num_training(update) * (microbatches_per_step(job) / phases.num_batches());
    D9D_REQUIRE(serves(job.trainer.pipelining.schedule, job.mesh.pipeline_parallel, trained),
                "trainer.pipelining.schedule: dual_pipe_v needs at least 2 x pipeline_parallel ({}) "
                "microbatches, the task's step trains {}{}; raise global_batch_size or lower microbatch_size",
                job.mesh.pipeline_parallel, trained,
                phases.num_updates() == 1 ? "" : fmt::format(" in its update {}", update));
  }
}

}  // namespace d9d
