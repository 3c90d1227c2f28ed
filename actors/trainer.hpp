#pragma once
// Trainer: the step of one rank as a state machine: batch -> begin -> computed -> reduced -> apply -> next.
// Pool: it counts, tells, and calls the task's state and finalize. One per rank. Parent: Node.
// The next step begins without waiting for the optimizer. The events that follow it do wait, in their order.
// hears StartTraining BatchReady DataEnded StepComputed ValuesReduced StepApplied MetricState CheckpointCommitted
//       Signalled Tick
// says Ready LoadBatches BeginStep ReduceValues ApplyStep Snapshot CollectMetrics CheckpointState FlushTrace
//      StepFinished EvaluationFinished Publish RankFinished

#include <deque>
#include <optional>
#include <string>

#include "actors/core/actor.hpp"
#include "actors/signal_wishes.hpp"
#include "actors/trainer_options.hpp"
#include "messages/checkpoint.capnp.h"
#include "messages/cluster.capnp.h"
#include "messages/data.capnp.h"
#include "messages/metrics.capnp.h"
#include "messages/pipeline.capnp.h"
#include "messages/train.capnp.h"
#include "runtime/train/step_end.hpp"

namespace d9d {

class Trainer final : public Actor {
 public:
  Trainer(World& world, TrainerOptions options);
  void behavior(Handlers& handlers) override;
  void started() override;

  void start_training(wire::StartTraining::Reader message);
  void batch_ready(wire::BatchReady::Reader message);
  void data_ended(wire::DataEnded::Reader message);
  void step_computed(wire::StepComputed::Reader message);
  void values_reduced(wire::ValuesReduced::Reader message);
  void step_applied(wire::StepApplied::Reader message);
  void metric_state(wire::MetricState::Reader message);
  void checkpoint_committed(wire::CheckpointCommitted::Reader message);
  void signalled(wire::Signalled::Reader message);
  void tick(wire::Tick::Reader message);

 private:
  enum class Phase { waiting, computing, reducing, evaluating, finished };
  void ask_for_batches();
  void advance();
  void begin(const LoadedBatch& batch);
  void collect_metrics_when_due(const StepTotals& totals);
  void apply(const StepResult& result);
  void report(const StepResult& result);
  void inferred(const StepTotals& totals);
  void obey(const AgreedWishes& wishes);
  void after_apply();
  void take_snapshot();
  void finish_when_done();
  EvaluationRun::Actions evaluation_actions();
  void evaluate();
  void evaluated(wire::StepComputed::Reader message);
  void evaluated(wire::ValuesReduced::Reader message);
  void finish_evaluation();
  void reduce_over_world(const StepReduction& reduction);
  void publish(const std::string& event, const std::string& context = "{}");
  void tell_events();
  void record_step(std::int64_t now_ns);
  void write_trace_when_due();
  void arm_deadline();
  void require_commit_of(std::uint64_t step) const;

  TrainerOptions options_;
  Phase phase_ = Phase::waiting;
  std::uint64_t current_ = 0, first_step_ = 0;  // the step in work, or the next one; where it started
  std::uint64_t last_step_;  // the job's last one, or the one at which all ranks agreed to stop
  std::uint64_t asked_for_ = 0, loaded_ = 0;  // last step whose batch was asked for; whose batch came
  std::deque<LoadedBatch> batches_;           // loaded ahead, in step order
  std::uint64_t next_sample_ = 0;             // cursor after the current step
  std::uint64_t tokens_ = 0, tokens_total_;   // of this rank in its step; of all ranks in all steps so far
  std::optional<EvaluationRun> evaluation_;   // where the job evaluates
  StepEnd step_end_;
  std::uint64_t reductions_ = 0;
  std::int64_t step_begin_ns_ = 0;
  std::uint32_t steps_track_ = 0;
  // At most one checkpoint is being written; a further one makes training wait at its step.
  struct Save {
    std::uint64_t step, next_sample, tokens_total, skipped;
  };
  std::optional<Save> snapshot_in_flight_, snapshot_wanted_;
  std::optional<std::uint64_t> applying_;  // the step whose ApplyStep has no answer yet
  struct Announcement {
    std::string event;
    std::uint64_t step;
    std::string context;
  };
  std::vector<Announcement> events_;  // published, and told as soon as no step is applying
  SignalWishes wishes_;
  int stop_signal_ = 0;
  bool started_ = false, told_finished_ = false, save_asked_ = false;
};

}  // namespace d9d
