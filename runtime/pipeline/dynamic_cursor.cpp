#include "runtime/pipeline/dynamic_cursor.hpp"

#include <algorithm>
#include <utility>

#include "runtime/base/error.hpp"

namespace d9d {

// The smallest one runs.
struct DynamicCursor::Candidate {
  bool can_wait;
  std::size_t position;
  Action action;

  auto operator<=>(const Candidate&) const = default;
};

void DynamicCursor::start(std::shared_ptr<const PipelineProgram> program) {
  D9D_CHECK(done(), "a program starts on rank {} before the one before is at its end", rank_);
  D9D_CHECK(rank_ < program->topology.num_ranks(), "rank {} of a program for {} ranks", rank_,
            program->topology.num_ranks());
  program_ = std::move(program);
  ledgers_.clear();
  positions_.clear();
  const RankProgram& own = program_->compute[static_cast<std::size_t>(rank_)];
  for (const int stage : program_->topology.stages_of(rank_)) {
    ledgers_.emplace(stage, StageLedger(stage, own, program_->num_microbatches));
  }
  for (std::size_t i = 0; i < own.size(); ++i) {
    for (const Action& action : own[i].parts) positions_[action] = i;
  }
}

std::optional<Instruction> DynamicCursor::advance(const Ready& ready) {
  std::vector<Candidate> candidates;
  for (const auto& [stage, ledger] : ledgers_) consider(ledger, ready, candidates);
  if (candidates.empty()) return {};
  const Candidate best = *std::min_element(candidates.begin(), candidates.end());
  Instruction chosen = program_->compute[static_cast<std::size_t>(rank_)][best.position];
  const auto can = [&](const Action& part) { return ledgers_.at(part.stage).allows(part) && ready(part); };
  if (!std::all_of(chosen.parts.begin(), chosen.parts.end(), can)) chosen.parts = {best.action};
  ran(chosen);
  return chosen;
}

void DynamicCursor::consider(const StageLedger& ledger, const Ready& ready,
                             std::vector<Candidate>& candidates) const {
  const auto can = [&](const Action* action) {
    return action != nullptr && ledger.allows(*action) && ready(*action);
  };
  const auto add = [&](const Action& action, bool can_wait) {
    candidates.push_back({can_wait, positions_.at(action), action});
  };
  if (can(ledger.next_forward())) add(*ledger.next_forward(), false);
  if (can(ledger.next_input())) add(*ledger.next_input(), false);
  const Action* weight = ledger.next_weight();
  if (!can(weight) || weight->kind != ActionKind::backward_weight) return;  // a B was an input already
  const bool wanted = (ledger.forward_waits_for_weight() && ready(*ledger.next_forward())) ||
                      (ledger.input_waits_for_weight() && ready(*ledger.next_input()));
  add(*weight, !wanted);
}

bool DynamicCursor::follow(const Instruction& instruction, const Ready& ready) {
  for (const Action& action : instruction.parts) {
    const auto ledger = ledgers_.find(action.stage);
    D9D_CHECK(ledger != ledgers_.end() && ledger->second.allows(action), "rank {} is told to run {} {}",
              rank_, to_string(action),
              ledger == ledgers_.end() ? "of a stage elsewhere" : "before its turn");
  }
  if (!std::all_of(instruction.parts.begin(), instruction.parts.end(), ready)) return false;
  ran(instruction);
  return true;
}

void DynamicCursor::ran(const Instruction& instruction) {
  for (const Action& action : instruction.parts) ledgers_.at(action.stage).ran(action);
}

bool DynamicCursor::done() const {
  return std::all_of(ledgers_.begin(), ledgers_.end(), [](const auto& entry) { return entry.second.done(); });
}

}  // namespace d9d
