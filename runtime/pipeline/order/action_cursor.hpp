#pragma once
// Which action a rank runs next, over all stages that live there. Implementations:
// ProgramCursor (the schedule's order) and DynamicCursor (goes on with
// another action while the head is late). No torch, no messages, no threads.

#include <functional>
#include <memory>
#include <optional>

#include "runtime/pipeline/order/cursor_order.hpp"
#include "runtime/pipeline/program/build_program.hpp"

namespace d9d {

class ActionCursor {
 public:
  // Whether the inputs of a compute action are there (StageCore::ready of its stage).
  using Ready = std::function<bool(const Action&)>;

  virtual ~ActionCursor() = default;

  // Starts `program`; the program before must be done.
  virtual void start(std::shared_ptr<const PipelineProgram> program) = 0;

  // The instruction that the caller, done with the one before, runs now; all of its parts are ready and the
  // cursor counts it as run. Nothing while the rank has to wait, and at the end. `now`: seconds of a clock
  // that only goes forward.
  virtual std::optional<Instruction> advance(const Ready& ready, double now) = 0;
  // When advance() returned nothing: the time at which to
  // call it again if nothing arrives first; none: never.
  virtual std::optional<double> next_wakeup() const { return {}; }
  // What an action of the rank takes in the mean, where the times of the calls do not tell it.
  virtual void set_mean_action(double /*seconds*/) {}
  // As advance(), for an instruction that another rank with the same program chose: false while it has to wait for
  // its inputs. A choice that breaks this cursor's rules is a bug.
  virtual bool follow(const Instruction& instruction, const Ready& ready) = 0;

  // All instructions were handed out.
  virtual bool done() const = 0;
};

// `extra_activations` is of the dynamic order (dynamic_cursor.hpp).
std::unique_ptr<ActionCursor> make_cursor(CursorOrder order, int rank, int extra_activations = 0);

}  // namespace d9d
