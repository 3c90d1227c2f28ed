#pragma once
// The law of the stage: messages arrive in any order, actions run in program order. A cursor walks the
// compute program of one rank, over all stages that live there, one instruction at a time. No torch, no
// messages, no threads.

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "runtime/pipeline/program/build_program.hpp"

namespace d9d {

class ProgramCursor {
 public:
  // Whether the inputs of a compute action are there (StageCore::ready of its stage).
  using Ready = std::function<bool(const Action&)>;

  // Nothing to do until start().
  explicit ProgramCursor(int rank) : rank_(rank) {}

  // From the first instruction of `program`; the one before must be at its end.
  void start(std::shared_ptr<const PipelineProgram> program);

  // The head of the program when all its parts are ready, and the cursor moves behind it: the caller runs it
  // now. Nothing while the head has to wait, and at the end. Never looks behind the head.
  std::optional<Instruction> advance(const Ready& ready);

  // All instructions were handed out.
  bool done() const;
  // What it waits at, for reports; empty at the end.
  const Instruction* head() const;

 private:
  const RankProgram& instructions() const;

  const int rank_;
  std::shared_ptr<const PipelineProgram> program_;
  std::size_t next_ = 0;
};

// What one rank exchanges with one peer in a step, in the order both of them do it. Actions are of this
// rank's side.
struct PeerTransfers {
  std::vector<Action> sends;
  std::vector<Action> receives;
};
// By peer rank on the pp axis.
std::map<int, PeerTransfers> transfers_of(const PipelineProgram& program, int rank);

}  // namespace d9d
