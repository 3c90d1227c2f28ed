#pragma once
// Which action a rank runs next, over all stages that live there. Implementations: ProgramCursor (the
// schedule's order) and DynamicCursor (any ready action, by priority). No torch, no messages, no threads.

#include <functional>
#include <memory>
#include <optional>

#include "runtime/pipeline/program/build_program.hpp"

namespace d9d {

class ActionCursor {
 public:
  // Whether the inputs of a compute action are there (StageCore::ready of its stage).
  using Ready = std::function<bool(const Action&)>;

  virtual ~ActionCursor() = default;

  // From the beginning of `program`; the one before must be at its end.
  virtual void start(std::shared_ptr<const PipelineProgram> program) = 0;

  // The instruction that the caller runs now, all of whose parts are ready; the cursor counts it as run.
  // Nothing while the rank has to wait, and at the end.
  virtual std::optional<Instruction> advance(const Ready& ready) = 0;
  // The same for an instruction that another rank with the same program chose: false while it has to wait for
  // its inputs. A choice that breaks this cursor's rules is a bug.
  virtual bool follow(const Instruction& instruction, const Ready& ready) = 0;

  // All instructions were handed out.
  virtual bool done() const = 0;
};

enum class CursorOrder { program, dynamic };
std::unique_ptr<ActionCursor> make_cursor(CursorOrder order, int rank);

}  // namespace d9d
