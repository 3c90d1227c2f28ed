#pragma once
// Trainer: the step of one rank as a state machine: batch -> begin -> computed -> reduced (-> hooked) -> apply -> next.
// Pool: it counts, sends messages, and calls the task's state and finalize. One per rank. Parent: Node.
// The next step begins without waiting for the optimizer. The events after an update do wait for it,
// and keep their order.
// hears Listeners StartTraining BatchReady DataEnded StepComputed ValuesReduced GradientsHooked StepApplied MetricState
//       CheckpointCommitted Signalled Slept Wake Awake RollBack StateRestored GenerateTexts MetricValues EndJob
//       ScaleLearningRate EventsFollowed StateKept Tick
// says Ready AskForListeners LoadBatches BeginStep ReduceValues HookGradients ApplyStep Sleep Wake Snapshot CollectMetrics
//      CheckpointState FlushTrace StepFinished EvaluationFinished RestoreState GenerateTexts RecordValue KeepState Publish
//      RankFinished

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "actors/core/actor.hpp"
#include "actors/notes/signal_wishes.hpp"
#include "actors/notes/step_requests.hpp"
#include "actors/notes/trainer_notes.hpp"
#include "actors/trainer_options.hpp"

namespace d9d {

class Trainer final : public Actor {
 public:
  Trainer(World& world, TrainerOptions options);
  void behavior(Handlers& handlers) override;
  void started() override;
  void listeners(wire::Listeners::Reader message);
  void start_training(wire::StartTraining::Reader message);
  void batch_ready(wire::BatchReady::Reader message);
  void data_ended(wire::DataEnded::Reader message);
  void step_computed(wire::StepComputed::Reader message);
  void values_reduced(wire::ValuesReduced::Reader message);
  void gradients_hooked(wire::GradientsHooked::Reader message);
  void step_applied(wire::StepApplied::Reader message);
  void metric_state(wire::MetricState::Reader message);
  void checkpoint_committed(wire::CheckpointCommitted::Reader message);
  void signalled(wire::Signalled::Reader message);
  void slept(wire::Slept::Reader message);
  void wake(wire::Wake::Reader message);
  void awake(wire::Awake::Reader message);
  void roll_back(wire::RollBack::Reader message);
  void state_restored(wire::StateRestored::Reader message);
  void generate_texts(wire::GenerateTexts::Reader message);
  void metric_values(wire::MetricValues::Reader message);
  void end_job(wire::EndJob::Reader message);
  void scale_learning_rate(wire::ScaleLearningRate::Reader message);
  void events_followed(wire::EventsFollowed::Reader message);
  void state_kept(wire::StateKept::Reader message);
  void tick(wire::Tick::Reader message);

 private:
  using Phase = TrainerPhase;
  void ask_for_batches();
  void advance();
  void begin(const LoadedBatch& batch);
  void reduce_when_followed();
  bool is_followed();
  void hook_gradients(const StepTotals& sums);
  void collect_metrics_when_due(const StepTotals& totals);
  void apply(const StepResult& result);
  void report(const StepResult& result);
  void tell_records();
  void inferred(const StepTotals& totals);
  void obey(const AgreedWishes& wishes);
  void end_here();
  double lr_multiplier() const { return options_.lr_multiplier(current_) * requests_.lr_factor(); }
  void after_apply();
  void take_snapshot();
  void tell_checkpoint_state();
  std::string state_of_rank_0() const;
  void fall_asleep(std::uint64_t step);
  void wake_when_asleep();
  void finish_when_done();
  EvaluationRun::Actions evaluation_actions();
  void evaluate();
  void evaluated(wire::StepComputed::Reader message);
  void evaluated(wire::ValuesReduced::Reader message);
  void finish_evaluation();
  void compare_evaluation(std::optional<double> value);
  void conclude_step();
  void restore();
  void make_texts();
  void texts_computed();
  void reduce_with(const RankWishes& wishes, std::vector<StepReduction> reductions);
  void reduce_over_world(const StepReduction& reduction);
  void publish(const std::string& event, const std::string& context = "{}");
  void tell_events();
  void record_step(std::int64_t now_ns);
  void write_trace_when_due();
  void arm_deadline(bool links_are_new = false);
  void require_commit_of(std::uint64_t step) const;

  TrainerOptions options_;
  Phase phase_ = Phase::waiting;
  std::uint64_t current_ = 0, first_step_ = 0;  // the step in work, or the next one; the first of this start
  std::uint64_t last_step_;  // the job's last one, or the one after which all ranks agreed to stop
  std::uint64_t asked_for_ = 0, loaded_ = 0;  // the last step whose batch was asked for, and whose batch came
  std::deque<LoadedBatch> batches_;           // loaded ahead, in step order
  LoadedBatch computed_;                      // the batch in work
  std::optional<StepTotals> totals_;          // totals of that batch, not yet reduced
  std::optional<RankWishes> agreed_;          // summed over all ranks, once this step has reduced them
  // The sample after the step; the reductions asked for and the tokens so far.
  std::uint64_t next_sample_ = 0, reductions_ = 0, tokens_total_;
  std::optional<EvaluationRun> evaluation_;                   // set if the job evaluates
  std::optional<std::pair<std::uint64_t, double>> compared_;  // step and metric of the last evaluation
  FollowingActors actors_;
  StepRequests requests_;
  StepEnd step_end_;
  std::int64_t step_begin_ns_ = 0;
  std::uint32_t steps_track_ = 0;
  // At most one checkpoint is being written. If another one is due, training waits at its step.
  std::optional<DueSave> snapshot_in_flight_, snapshot_wanted_;
  double lr_factor_kept_ = 1;              // for the one in flight
  std::string metric_state_;               // of the one in flight
  std::optional<std::uint64_t> applying_;  // the step whose ApplyStep has no answer yet
  ListenedTo listened_to_;
  std::vector<Announcement> events_;  // sent when no step is applying
  SleepOfRank sleep_;
  SignalWishes wishes_;
  int stop_signal_ = 0;
  bool started_ = false, told_finished_ = false, save_asked_ = false, generating_ = false, ended_ = false,
       values_awaited_ = false;
};

}  // namespace d9d
