#pragma once
// Walks the compute program of one rank, over all of its stages, one instruction at a time: messages arrive
// in any order, but actions run in program order. No torch, no messages, no threads.

#include <memory>
#include <optional>

#include "runtime/pipeline/order/action_cursor.hpp"

namespace d9d {

class ProgramCursor final : public ActionCursor {
 public:
  // Is done until start().
  explicit ProgramCursor(int rank) : rank_(rank) {}

  void start(std::shared_ptr<const PipelineProgram> program) override;
  // Returns the head of the program if it is ready, else nothing. Never looks further.
  std::optional<Instruction> advance(const Ready& ready, double now) override;
  bool follow(const Instruction& instruction, const Ready& ready) override;
  bool done() const override;

  // The instruction for which it waits, for reports; null at the end.
  const Instruction* head() const;

 private:
  const RankProgram& instructions() const;

  const int rank_;
  std::shared_ptr<const PipelineProgram> program_;
  std::size_t next_ = 0;
};

}  // namespace d9d
