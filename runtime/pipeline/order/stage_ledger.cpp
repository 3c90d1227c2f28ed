#include "runtime/pipeline/order/stage_ledger.hpp"

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

StageLedger::StageLedger(int stage, const RankProgram& program, int microbatches, int extra)
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
      caps_.live = std::max(caps_.live, counts.live());
      caps_.held = std::max(caps_.held, counts.held());
      caps_.pending = std::max(caps_.pending, counts.pending());
    }
  }
  for (std::size_t* cap : {&caps_.live, &caps_.held, &caps_.pending}) *cap += static_cast<std::size_t>(extra);
}

bool StageLedger::allows(const Action& action) const {
  const auto microbatch = static_cast<std::size_t>(action.microbatch);
  switch (action.kind) {
    case ActionKind::forward:
      return is_head(action, next_forward()) && done_.live() < caps_.live && done_.held() < caps_.held;
    case ActionKind::backward:
      return is_head(action, next_input()) && is_head(action, next_weight()) && forwarded_[microbatch];
    case ActionKind::backward_input:
      return is_head(action, next_input()) && forwarded_[microbatch] && done_.pending() < caps_.pending;
    case ActionKind::backward_weight:
      return is_head(action, next_weight()) && input_done_[microbatch];
    default:
      return false;
  }
}

void StageLedger::mark_run(const Action& action) {
  D9D_CHECK(allows(action), "{} runs before its turn", to_string(action));
  done_.count(action.kind);
  const auto microbatch = static_cast<std::size_t>(action.microbatch);
  if (action.kind == ActionKind::forward) forwarded_[microbatch] = true;
  if (action.kind == ActionKind::backward_input) input_done_[microbatch] = true;
}

}  // namespace d9d
