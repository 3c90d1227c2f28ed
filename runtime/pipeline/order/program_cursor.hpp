#pragma once
// The law of the stage: messages arrive in any order, actions run in program
// order. A cursor walks the compute program of one rank, over all stages that
// live there, one instruction at a time. No torch, no messages, no threads.

#include <memory>
#include <optional>

#include "runtime/pipeline/order/action_cursor.hpp"

namespace d9d {

class ProgramCursor final : public ActionCursor {
 public:
  // Nothing to do until start().
  explicit ProgramCursor(int rank) : rank_(rank) {}

  void start(std::shared_ptr<const PipelineProgram> program) override;
  // Returns the head of the program or nothing; never looks further.
  std::optional<Instruction> advance(const Ready& ready, double now) override;
  bool follow(const Instruction& instruction, const Ready& ready) override;
  bool done() const override;

  // What it waits at, for reports; empty at the end.
  const Instruction* head() const;

 private:
  const RankProgram& instructions() const;

  const int rank_;
  std::shared_ptr<const PipelineProgram> program_;
  std::size_t next_ = 0;
};

}  // namespace d9d
