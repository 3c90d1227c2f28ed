#pragma once
// `pipeline.order: dynamic`: a rank runs any ready action instead of waiting at the head of its program,
// which absorbs stragglers. What it may run at all is decided per stage by StageLedger: every sum keeps its
// order, so the numbers are those of the static order to the last bit, and no stage holds more than it does
// there.
//
// Among what is allowed and ready the one that comes first in the program runs; but a W waits until nothing
// else can run, unless a ready action is held back by a cap that the W makes room under. Actions that the
// program composes (`F|B`) run composed when all of them can. Depends on nothing but what is ready: equal
// facts, equal choice.

#include <map>
#include <vector>

#include "runtime/pipeline/action_cursor.hpp"
#include "runtime/pipeline/stage_ledger.hpp"

namespace d9d {

class DynamicCursor final : public ActionCursor {
 public:
  // Nothing to do until start().
  explicit DynamicCursor(int rank) : rank_(rank) {}

  void start(std::shared_ptr<const PipelineProgram> program) override;
  std::optional<Instruction> advance(const Ready& ready) override;
  bool follow(const Instruction& instruction, const Ready& ready) override;
  bool done() const override;

 private:
  struct Candidate;
  void consider(const StageLedger& ledger, const Ready& ready, std::vector<Candidate>& candidates) const;
  void ran(const Instruction& instruction);

  const int rank_;
  std::shared_ptr<const PipelineProgram> program_;
  std::map<int, StageLedger> ledgers_;       // by stage
  std::map<Action, std::size_t> positions_;  // index of the instruction in the program
};

}  // namespace d9d
