#pragma once
// Records which actions one rank has run in a step, over all of its stages, and tells which it may
// run next without changing any number and without holding more than its program does. Pure
// integers. Internal to DynamicCursor.
//
// StageLedger decides about each stage. In addition the whole rank never holds more (stage, microbatch)
// pairs than in its program: between F and B or I (live), and between F and B or W (held). A forward is
// allowed only if both caps still hold when all actions that it overtakes follow in program order. So
// the first action of the program that has not run yet is always allowed, and StageLedger's proof
// against deadlocks is valid here, too.

#include <map>
#include <vector>

#include "runtime/pipeline/order/stage_ledger.hpp"
#include "runtime/pipeline/program/build_program.hpp"

namespace d9d {

class RankLedger {
 public:
  // `extra`: pairs that each cap allows in addition to those of the program.
  RankLedger(int rank, const PipelineProgram& program, int extra);

  bool done() const { return head_ == program_.size(); }
  // The parts of the first unfinished instruction that have not run yet; no parts at the end.
  Instruction head() const;
  // The heads of all queues of all stages that order and caps allow. Does not look at inputs.
  std::vector<Action> allowed() const;
  bool allows(const Action& action) const;
  // The actions that come before this one in the program and have not run.
  std::vector<Action> overtaken_by(const Action& action) const;
  std::size_t position(const Action& action) const { return positions_.at(action); }
  const Instruction& instruction(std::size_t position) const { return program_[position]; }
  // Counts an allowed action as run.
  void mark_run(const Action& action);

 private:
  struct Held {
    int live = 0;
    int held = 0;

    void count(ActionKind kind);
  };
  bool keeps_caps(const Action& forward) const;

  const RankProgram program_;
  std::map<Action, std::size_t> positions_;  // index of the instruction in the program
  std::map<int, StageLedger> stages_;
  std::vector<std::vector<char>> was_run_;  // by instruction and part
  std::size_t head_ = 0;
  Held now_, max_;
};

}  // namespace d9d
