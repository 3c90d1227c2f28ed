#pragma once
// Decides in which order one rank runs the actions of its steps. No torch, no messages, no threads.
//
// Ranks that share collectives inside an action must all run their actions in the same order. With the
// static order they have the same program. With the dynamic order the first of them leads: it numbers the
// instructions that it runs, and the others follow. Each rank waits for its own inputs.

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>

#include "runtime/pipeline/order/action_cursor.hpp"

namespace d9d {

// What an order runs at a time: the pass of one update of a step.
struct OrderedPass {
  std::uint64_t step = 0;
  std::uint32_t update = 0;
  bool operator==(const OrderedPass&) const = default;
};

// The instruction that a rank runs as number `number` of a pass, counted from 0.
struct OrderedInstruction {
  OrderedPass pass = {};
  std::uint32_t number = 0;
  Instruction instruction;
};

class RankOrder {
 public:
  // `follows`: another rank leads; then `cursor` only checks its choices.
  RankOrder(std::unique_ptr<ActionCursor> cursor, ActionCursor::Ready ready, bool follows = false);

  // Begins a pass. The previous one must be done.
  void begin_step(OrderedPass pass, std::shared_ptr<const PipelineProgram> program);
  // Takes the leader's next instruction, maybe of a pass that has not begun here yet. It is a bug when a
  // number is repeated or left out, or when this rank does not follow.
  void follow(OrderedInstruction led);

  // Returns the instruction to run now, and counts it as run. Its inputs have arrived. Returns
  // nothing while the rank has to wait, and at the end. Call it after the previous instruction has
  // run. `now`: seconds of a monotonic clock.
  std::optional<OrderedInstruction> next(double now);
  // After next() has returned nothing: the time at which to call it again if no message arrives
  // first. Returns each time only once.
  std::optional<double> take_wakeup();
  // Sets the mean time of an action on a device. Without it the order measures
  // the times between calls of next().
  void set_mean_action(double seconds) { cursor_->set_mean_action(seconds); }
  bool step_done() const { return cursor_->done(); }

 private:
  const std::unique_ptr<ActionCursor> cursor_;
  const ActionCursor::Ready ready_;
  const bool follows_;
  OrderedPass pass_;
  std::uint32_t next_number_ = 0;  // of the pass
  std::optional<double> last_wakeup_;
  std::deque<OrderedInstruction> led_;  // received from the leader and not run yet
  OrderedPass led_pass_;                // of the last instruction received
  std::uint32_t next_led_number_ = 0;   // of that pass
};

}  // namespace d9d
