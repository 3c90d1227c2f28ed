#include "runtime/pipeline/order/rank_ledger.hpp"

#include <algorithm>

#include "runtime/base/error.hpp"

namespace d9d {

void RankLedger::Held::count(ActionKind kind) {
  if (kind == ActionKind::forward) ++live, ++held;
  if (kind == ActionKind::backward || kind == ActionKind::backward_input) --live;
  if (kind == ActionKind::backward || kind == ActionKind::backward_weight) --held;
}

RankLedger::RankLedger(int rank, const PipelineProgram& program, int extra)
    : program_(program.compute[static_cast<std::size_t>(rank)]) {
  for (const int stage : program.topology.stages_of(rank)) {
    stages_.emplace(stage, StageLedger(stage, program_, program.num_microbatches, extra));
  }
  Held held;
  for (std::size_t i = 0; i < program_.size(); ++i) {
    was_run_.emplace_back(program_[i].parts.size(), 0);
    for (const Action& action : program_[i].parts) {
      positions_[action] = i;
      held.count(action.kind);
      max_.live = std::max(max_.live, held.live);
      max_.held = std::max(max_.held, held.held);
    }
  }
  max_.live += extra;
  max_.held += extra;
}

Instruction RankLedger::head() const {
  Instruction left;
  if (done()) return left;
  for (std::size_t part = 0; part < program_[head_].parts.size(); ++part) {
    if (!was_run_[head_][part]) left.parts.push_back(program_[head_].parts[part]);
  }
  return left;
}

std::vector<Action> RankLedger::allowed() const {
  std::vector<Action> actions;
  for (const auto& [stage, ledger] : stages_) {
    const Action* input = ledger.next_input();
    const Action* weight = ledger.next_weight();
    for (const Action* next : {ledger.next_forward(), input, weight}) {
      const bool twice = next != nullptr && next == weight && input != nullptr && *input == *weight;  // a B
      if (next != nullptr && !twice && allows(*next)) actions.push_back(*next);
    }
  }
  return actions;
}

bool RankLedger::allows(const Action& action) const {
  const auto stage = stages_.find(action.stage);
  if (stage == stages_.end() || !stage->second.allows(action)) return false;
  return action.kind != ActionKind::forward || keeps_caps(action);
}

bool RankLedger::keeps_caps(const Action& forward) const {
  Held held = now_;
  const auto fits = [&] { return held.live <= max_.live && held.held <= max_.held; };
  held.count(forward.kind);
  if (!fits()) return false;
  for (const Action& action : overtaken_by(forward)) {
    held.count(action.kind);
    if (!fits()) return false;
  }
  return true;
}

std::vector<Action> RankLedger::overtaken_by(const Action& action) const {
  std::vector<Action> overtaken;
  for (std::size_t i = head_; i < position(action); ++i) {
    for (std::size_t part = 0; part < program_[i].parts.size(); ++part) {
      if (!was_run_[i][part]) overtaken.push_back(program_[i].parts[part]);
    }
  }
  return overtaken;
}

void RankLedger::mark_run(const Action& action) {
  stages_.at(action.stage).mark_run(action);
  now_.count(action.kind);
  const std::size_t at = position(action);
  const auto& parts = program_[at].parts;
  was_run_[at][static_cast<std::size_t>(std::find(parts.begin(), parts.end(), action) - parts.begin())] = 1;
  const auto all_run = [this](std::size_t i) {
    return std::all_of(was_run_[i].begin(), was_run_[i].end(), [](char run) { return run != 0; });
  };
  while (head_ < program_.size() && all_run(head_)) ++head_;
}

}  // namespace d9d
