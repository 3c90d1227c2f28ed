#pragma once
// Decides which action a rank runs next, over all of its stages. Implementations: ProgramCursor (the order
// of the schedule) and DynamicCursor (runs another action while the head of the program is late). No
// torch, no messages, no threads.

#include <functional>
#include <memory>
#include <optional>

#include "runtime/pipeline/order/cursor_order.hpp"
#include "runtime/pipeline/program/build_program.hpp"

namespace d9d {

class ActionCursor {
 public:
  // Tells whether the inputs of a compute action have arrived (StageCore::ready of its stage).
  using Ready = std::function<bool(const Action&)>;

  virtual ~ActionCursor() = default;

  // Starts `program`. The previous program must be done.
  virtual void start(std::shared_ptr<const PipelineProgram> program) = 0;

  // Returns the instruction to run now, and counts it as run. All of its parts are ready. Returns
  // nothing while the rank has to wait, and at the end. Call it after the previous instruction has run.
  // `now`: seconds of a monotonic clock.
  virtual std::optional<Instruction> advance(const Ready& ready, double now) = 0;
  // After advance() has returned nothing: the time at which to call it again if
  // nothing arrives first; none: never.
  virtual std::optional<double> next_wakeup() const { return {}; }
  // Sets the mean time of the rank's actions, when it does not follow from the
  // times of the calls (on a device).
  virtual void set_mean_action(double /*seconds*/) {}
  // Counts an instruction as run that another rank with the same program chose. Returns false while its
  // inputs are missing here. It is a bug when the choice breaks this cursor's rules.
  virtual bool follow(const Instruction& instruction, const Ready& ready) = 0;

  // Whether all instructions were returned.
  virtual bool done() const = 0;
};

// `extra_activations`: for the dynamic order (dynamic_cursor.hpp).
std::unique_ptr<ActionCursor> make_cursor(CursorOrder order, int rank, int extra_activations = 0);

}  // namespace d9d
