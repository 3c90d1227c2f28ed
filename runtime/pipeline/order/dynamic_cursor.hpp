#pragma once
// `pipeline.order: dynamic`: a rank runs another action while the head of its program is late.
// RankLedger decides which actions are allowed at all: every sum keeps its order, so the numbers equal
// those of the static order to the last bit, and no rank holds more (stage, microbatch) pairs than in
// its program, plus `extra_activations`.
//
// The head of the program runs as soon as it is ready. While it is not, the first ready action that may
// overtake it runs; a W only when there is no other. Each runs only after the rank has been idle for the
// action's patience, a share of the mean time of the rank's own actions: an arrival that is late by jitter
// must not change the order, because the action that runs instead delays the head and all ranks that wait
// for it. A forward waits longest (it is never urgent), a W least. A full backward overtakes only forwards
// of other stages, and only in programs with split backwards; in other programs later ranks would wait for
// that forward. Actions that the program composes (`F|B`) run composed when all of them are ready.
//
// The choice depends on the ready actions and on the times of the calls. An instruction counts as running
// from the call that returned it to the next call, unless set_mean_action() is called (for a device,
// which works on after the call).

#include <optional>

#include "runtime/pipeline/order/action_cursor.hpp"
#include "runtime/pipeline/order/rank_ledger.hpp"

namespace d9d {

class DynamicCursor final : public ActionCursor {
 public:
  // Is done until start(). `extra_activations`: RankLedger's `extra`.
  explicit DynamicCursor(int rank, int extra_activations = 0) : rank_(rank), extra_(extra_activations) {}

  void start(std::shared_ptr<const PipelineProgram> program) override;
  std::optional<Instruction> advance(const Ready& ready, double now) override;
  std::optional<double> next_wakeup() const override { return next_wakeup_; }
  bool follow(const Instruction& instruction, const Ready& ready) override;
  void set_mean_action(double seconds) override { told_mean_ = seconds; }
  bool done() const override { return !ledger_ || ledger_->done(); }

 private:
  bool may_overtake(const Action& action) const;
  std::optional<Action> best_of_the_rest(const Ready& ready) const;
  Instruction with_its_partners(const Action& action, const Ready& ready) const;
  Instruction run(Instruction instruction, double now);
  void note_time(double now);
  void count(const Instruction& instruction);

  const int rank_;
  const int extra_;
  std::shared_ptr<const PipelineProgram> program_;
  bool splits_ = false;  // the rank's program has W
  std::optional<RankLedger> ledger_;
  // Sums for the mean time of the rank's actions. Older steps count less and less.
  double seconds_ = 0;
  double actions_ = 0;
  std::optional<double> told_mean_;
  std::optional<Instruction> running_;
  double since_ = 0;  // when the running instruction began, or the rank became idle
  std::optional<double> next_wakeup_;
};

}  // namespace d9d
