#include "runtime/pipeline/order/dynamic_cursor.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

#include "runtime/base/error.hpp"

namespace d9d {
namespace {

// The patience in mean times of the rank's own actions, from simulations of all schedules under jitter and
// delays (see README): with less patience jitter decides, with more the gain is lost.
double patience_for(ActionKind kind) {
  if (kind == ActionKind::forward) return 1;
  return kind == ActionKind::backward_weight ? 0.3 : 0.5;
}

bool is_weight(const Action& action) {
  return action.kind == ActionKind::backward_weight;
}

}  // namespace

void DynamicCursor::start(std::shared_ptr<const PipelineProgram> program) {
  D9D_CHECK(done(), "a program starts on rank {} before the one before is at its end", rank_);
  D9D_CHECK(rank_ < program->topology.num_ranks(), "rank {} of a program for {} ranks", rank_,
            program->topology.num_ranks());
  program_ = std::move(program);
  ledger_.emplace(rank_, *program_, extra_);
  splits_ = false;
  for (const Instruction& instruction : program_->compute[static_cast<std::size_t>(rank_)]) {
    splits_ = splits_ || std::any_of(instruction.parts.begin(), instruction.parts.end(), is_weight);
  }
  seconds_ /= 2;
  actions_ /= 2;
  running_.reset();
  next_wakeup_.reset();
}

std::optional<Instruction> DynamicCursor::advance(const Ready& ready, double now) {
  note_time(now);
  next_wakeup_.reset();
  if (done()) return {};
  Instruction head = ledger_->head();
  if (std::all_of(head.parts.begin(), head.parts.end(), ready)) return run(std::move(head), now);
  const auto best = best_of_the_rest(ready);
  if (!best || actions_ == 0) return {};
  const double due = since_ + patience_for(best->kind) * told_mean_.value_or(seconds_ / actions_);
  if (now < due) {
    next_wakeup_ = due;
    return {};
  }
  return run(with_its_partners(*best, ready), now);
}

// The running instruction ends with this call, or the idle time goes on.
void DynamicCursor::note_time(double now) {
  if (actions_ == 0 && !running_) since_ = now;
  if (!running_) return;
  seconds_ += now - since_;
  actions_ += static_cast<double>(running_->parts.size());
  running_.reset();
  since_ = now;
}

std::optional<Action> DynamicCursor::best_of_the_rest(const Ready& ready) const {
  const auto key = [this](const Action& action) {
    return std::tuple(is_weight(action), ledger_->position(action), action);
  };
  std::optional<Action> best;
  for (const Action& action : ledger_->allowed()) {
    if (!ready(action) || !may_overtake(action)) continue;
    if (!best || key(action) < key(*best)) best = action;
  }
  return best;
}

bool DynamicCursor::may_overtake(const Action& action) const {
  if (action.kind != ActionKind::backward) return true;
  const auto overtaken = ledger_->overtaken_by(action);
  return std::none_of(overtaken.begin(), overtaken.end(), [&](const Action& other) {
    return other.kind == ActionKind::forward && (!splits_ || other.stage == action.stage);
  });
}

Instruction DynamicCursor::with_its_partners(const Action& action, const Ready& ready) const {
  const Instruction& whole = ledger_->instruction(ledger_->position(action));
  const auto can = [&](const Action& part) {
    return ledger_->allows(part) && ready(part) && may_overtake(part);
  };
  return std::all_of(whole.parts.begin(), whole.parts.end(), can) ? whole : Instruction{{action}};
}

Instruction DynamicCursor::run(Instruction instruction, double now) {
  count(instruction);
  running_ = instruction;
  since_ = now;
  return instruction;
}

bool DynamicCursor::follow(const Instruction& instruction, const Ready& ready) {
  for (const Action& action : instruction.parts) {
    D9D_CHECK(ledger_ && ledger_->allows(action),
              "the leader of rank {} runs {}, which the rank's order forbids", rank_, to_string(action));
  }
  if (!std::all_of(instruction.parts.begin(), instruction.parts.end(), ready)) return false;
  count(instruction);
  return true;
}

void DynamicCursor::count(const Instruction& instruction) {
  for (const Action& action : instruction.parts) ledger_->mark_run(action);
}

}  // namespace d9d
