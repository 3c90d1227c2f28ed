#include "runtime/pipeline/stage_ledger.hpp"

#include <algorithm>

#include "runtime/base/error.hpp"

namespace d9d {
namespace {

bool is_head(const Action& action, const Action* head) {
  return head != nullptr && *head == action;
}

}  // namespace

void StageLedger::Counts::count(ActionKind kind) {
  if (kind == ActionKind::forward) ++forwards;
  if (kind == ActionKind::backward || kind == ActionKind::backward_input) ++inputs;
  if (kind == ActionKind::backward || kind == ActionKind::backward_weight) ++weights;
}

StageLedger::StageLedger(int stage, const RankProgram& program, int microbatches)
    : forwarded_(static_cast<std::size_t>(microbatches)),
      input_done_(static_cast<std::size_t>(microbatches)) {
  Counts counts;
  for (const Instruction& instruction : program) {
    for (const Action& action : instruction.parts) {
      if (action.stage != stage) continue;
      const bool full = action.kind == ActionKind::backward;
      if (action.kind == ActionKind::forward) forwards_.push_back(action);
      if (full || action.kind == ActionKind::backward_input) inputs_.push_back(action);
      if (full || action.kind == ActionKind::backward_weight) weights_.push_back(action);
      counts.count(action.kind);
      live_max_ = std::max(live_max_, counts.live());
      held_max_ = std::max(held_max_, counts.held());
      pending_max_ = std::max(pending_max_, counts.pending());
    }
  }
}

bool StageLedger::allows(const Action& action) const {
  const auto microbatch = static_cast<std::size_t>(action.microbatch);
  switch (action.kind) {
    case ActionKind::forward:
      return is_head(action, next_forward()) && done_.live() < live_max_ && done_.held() < held_max_;
    case ActionKind::backward:
      return is_head(action, next_input()) && is_head(action, next_weight()) && forwarded_[microbatch];
    case ActionKind::backward_input:
      return is_head(action, next_input()) && forwarded_[microbatch] && done_.pending() < pending_max_;
    case ActionKind::backward_weight:
      return is_head(action, next_weight()) && input_done_[microbatch];
    default:
      return false;
  }
}

bool StageLedger::forward_waits_for_weight() const {
  return next_forward() != nullptr && done_.live() < live_max_ && done_.held() == held_max_;
}

bool StageLedger::input_waits_for_weight() const {
  const Action* input = next_input();
  if (input == nullptr) return false;
  // A B behind a W in the queue of weights, or an I at the cap.
  return input->kind == ActionKind::backward ? !is_head(*input, next_weight())
                                             : done_.pending() == pending_max_;
}

void StageLedger::ran(const Action& action) {
  D9D_CHECK(allows(action), "{} runs before its turn", to_string(action));
  done_.count(action.kind);
  const auto microbatch = static_cast<std::size_t>(action.microbatch);
  if (action.kind == ActionKind::forward) forwarded_[microbatch] = true;
  if (action.kind == ActionKind::backward_input) input_done_[microbatch] = true;
}

}  // namespace d9d
