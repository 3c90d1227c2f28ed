#include "runtime/pipeline/order/program_cursor.hpp"

#include <algorithm>
#include <utility>

#include "runtime/base/error.hpp"

namespace d9d {

void ProgramCursor::start(std::shared_ptr<const PipelineProgram> program) {
  D9D_CHECK(done(), "a program starts on rank {} while the one before waits at {}", rank_,
            to_string(*head()));
  D9D_CHECK(rank_ < program->topology.num_ranks(), "rank {} of a program for {} ranks", rank_,
            program->topology.num_ranks());
  program_ = std::move(program);
  next_ = 0;
}

std::optional<Instruction> ProgramCursor::advance(const Ready& ready, double /*now*/) {
  if (done()) return {};
  const Instruction& instruction = *head();
  if (!std::all_of(instruction.parts.begin(), instruction.parts.end(), ready)) return {};
  ++next_;
  return instruction;
}

bool ProgramCursor::follow(const Instruction& instruction, const Ready& ready) {
  D9D_CHECK(!done() && *head() == instruction, "the leader of rank {} runs {}, but the rank's program has {}",
            rank_, to_string(instruction), done() ? "its end" : to_string(*head()));
  return advance(ready, 0).has_value();
}

bool ProgramCursor::done() const {
  return !program_ || next_ == instructions().size();
}

const Instruction* ProgramCursor::head() const {
  return done() ? nullptr : &instructions()[next_];
}

const RankProgram& ProgramCursor::instructions() const {
  return program_->compute[static_cast<std::size_t>(rank_)];
}

}  // namespace d9d
