#pragma once
// Trainer: the steps of one rank of a job that trains: reduced (-> hooked) -> apply -> what is due between two steps:
// an earlier state, an evaluation, texts. Own thread, as every StepLoop; the learning rate is users' code, too. One per
// rank. Parent: Node.
// The next step begins without waiting for the optimizer. The events after an update do wait for it,
// and keep their order.
// hears Listeners StartTraining BatchReady DataEnded StepComputed ValuesReduced GradientsHooked StepApplied MetricState
//       CheckpointCommitted Signalled Slept Wake Awake RollBack StateRestored GenerateTexts WriteRollouts MetricValues
//       EndJob ScaleLearningRate EventsFollowed StepShown StateKept Tick
// says Ready AskForListeners LoadBatches BeginStep ReduceValues HookGradients ApplyStep Sleep Wake Snapshot
//      CollectMetrics CheckpointState FlushTrace StepFinished EvaluationFinished RestoreState GenerateTexts
//      WriteRollouts RolloutsWritten RecordValue KeepState EndJob Publish RankFinished

#include "actors/loop/step_loop.hpp"
#include "actors/loop/trainer_options.hpp"

namespace d9d {

class Trainer final : public StepLoop {
 public:
  Trainer(World& world, TrainerOptions options);
  void behavior(Handlers& handlers) override;
  void batch_ready(wire::BatchReady::Reader message) override;
  void step_computed(wire::StepComputed::Reader message) override;
  void values_reduced(wire::ValuesReduced::Reader message) override;
  void gradients_hooked(wire::GradientsHooked::Reader message);
  void step_applied(wire::StepApplied::Reader message);
  void metric_state(wire::MetricState::Reader message) override;
  void roll_back(wire::RollBack::Reader message);
  void state_restored(wire::StateRestored::Reader message);
  void generate_texts(wire::GenerateTexts::Reader message);
  void write_rollouts(wire::WriteRollouts::Reader message);
  void metric_values(wire::MetricValues::Reader message);
  void scale_learning_rate(wire::ScaleLearningRate::Reader message);

 private:
  std::vector<StepReduction> reductions_of(const StepTotals& mine) const override;
  bool begin_work_after_step() override;
  bool is_loading() const override;
  bool take_progress() override;
  std::vector<std::uint64_t> skipped_updates() const override { return step_end_.skipped_by_update(); }
  std::string state_after(std::uint64_t step) const override;
  void add_state_of_rank_0(nlohmann::json& state) const override;
  std::optional<double> metric_after(std::uint64_t step) const;
  void add_metric(nlohmann::json& state, std::optional<double> value) const;
  bool owes_work() const override;
  void keep_what_was_owed() override;
  bool may_evaluate() const;
  bool evaluation_is_due() const;
  void say_what_is_left() const;
  void hook_gradients(const StepTotals& sums);
  void collect_metrics_when_due(const StepScale& scale);
  void apply(const StepResult& result);
  StepResult step_so_far() const;
  double lr_multiplier() const { return training_.lr_multiplier(current_) * requests_.lr_factor(); }
  EvaluationRun::Actions evaluation_actions();
  void evaluate();
  void evaluated(wire::StepComputed::Reader message);
  void evaluated(wire::ValuesReduced::Reader message);
  void finish_evaluation();
  void compare_evaluation(std::optional<double> value);
  void restore();
  void make_texts();
  void texts_computed();
  bool begin_rollouts() override;
  void cancel_rollouts() override;
  void rollouts_computed();

  TrainingOptions training_;
  StepEnd step_end_;
  std::vector<StepResult> made_;             // the updates of this step so far
  std::optional<RankWishes> agreed_;         // summed over all ranks, once this step has reduced them
  std::optional<EvaluationRun> evaluation_;  // set if the job evaluates
  std::optional<std::pair<std::uint64_t, double>> compared_;  // step and metric of the last evaluation
  KeptWithCheckpoint kept_;                                   // for the checkpoint in flight
  std::optional<TextRequest> rollouts_part_;                  // while further prompts of a step come
  std::deque<WantedRollouts> rollouts_;                       // that the Loader waits for
  bool rollouts_progress_ = false;                            // some were written since the last look
};

}  // namespace d9d
