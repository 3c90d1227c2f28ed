#pragma once
// The actors of one rank. rank_cast.cpp makes its executor and its trainer, rank_loaders.cpp its loaders
// and its collector of metrics; rank_links.hpp has those that reach other ranks. No torch.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "actors/job/cast/rank_links.hpp"
#include "actors/job/cast/resumed_state.hpp"
#include "actors/loop/trainer_options.hpp"
#include "runtime/job/job_length.hpp"
#include "runtime/task/rank_events.hpp"

namespace d9d {

class Compose;
class GradientHook;
class InferenceTask;
class ReopenedCommunicators;
class TaskRecords;
class TrainTask;
struct ModelOptions;
struct PipelineWorkerOptions;
struct RankServices;
struct SourceFeedOptions;
struct StepEndOptions;
struct TaskOptions;

// The services outlive the actors.
std::vector<CastMember> make_rank_cast(ProcessServices& process, EpochServices& epoch,
                                       const ResumedState& resumed, int rank);

// What these actors share.
struct RankCast {
  ProcessServices& process;
  EpochServices& epoch;
  const ResumedState& resumed;
  const int rank;
  const RankPlan own;
  const std::shared_ptr<InferenceTask> inference;  // null: the job trains
  const std::shared_ptr<TrainTask> task;           // or what stands for `inference`
  const std::shared_ptr<const RankEvents> events;
  const std::vector<std::shared_ptr<GradientHook>> hooks;
  const std::shared_ptr<RankGradients> gradients;
  const std::shared_ptr<TaskRecords> records;
  const std::shared_ptr<ReopenedCommunicators> communicators;  // of the RankExecutor

  const JobConfig& job() const { return process.job(); }
  const Plan& plan() const { return epoch.plan(); }
  const Membership& membership() const { return epoch.membership(); }
  ActorId at(Role role) const { return {role, static_cast<std::uint64_t>(rank)}; }
  RankLinks links() const { return {process, epoch, own, gradients}; }
  std::optional<TraceWindow> trace_window() const;
  // Declares the metrics of a training step.
  std::function<void(Compose&)> metrics() const;
  JobPosition position() const { return {membership().resume_step, membership().resume_sample}; }
  std::uint64_t total_steps() const;

  CastMember rank_executor() const;
  std::vector<int> same_samples() const;  // the ranks of its data replica, with this one
  PipelineWorkerOptions worker_options() const;
  RankServices services() const;
  ModelOptions model_options() const;
  TaskOptions task_options() const;

  SaveOptions saves() const;
  RunBefore run_before() const;
  UsersOfSteps users() const;
  ShownSteps shown() const;
  // `links`: Collectives and TensorLanes of the rank.
  StepLoopOptions step_loop(std::vector<ActorId> links) const;
  TrainingOptions training() const;
  CastMember trainer_or_inferrer(std::vector<ActorId> links) const;
  StepEndOptions step_end() const;
  std::vector<std::uint64_t> skipped_updates()
      const;  // up to the resumed checkpoint, of each update of a step
  std::optional<EvaluationOptions> evaluation() const;
  std::function<double(std::uint64_t)> lr_multiplier() const;

  CastMember loader() const;
  CastMember evaluation_loader() const;
  CastMember metric_collector() const;
  // What both loaders have in common. `batches`: in which a step's samples are loaded.
  SourceFeedOptions feed(std::int64_t batches) const;
};

// The names of the job's own actors, in its order.
std::vector<std::string> actor_names(const JobConfig& job);

}  // namespace d9d
