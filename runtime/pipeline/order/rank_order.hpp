#pragma once
// The order in which one rank runs the actions of its steps. No torch, no messages, no threads.
//
// Ranks that share collectives inside an action must all run their actions in one order. Under the static
// order they have the same program. Under the dynamic order the first of them leads: it numbers what it runs
// and tells the others, which follow. Each of them waits for its own inputs.

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>

#include "runtime/pipeline/order/action_cursor.hpp"

namespace d9d {

// What a rank runs as action `number` of a step, counted from 0.
struct OrderedInstruction {
  std::uint64_t step = 0;
  std::uint32_t number = 0;
  Instruction instruction;
};

class RankOrder {
 public:
  // `follows`: another rank leads; then `cursor` only checks its choices.
  RankOrder(std::unique_ptr<ActionCursor> cursor, ActionCursor::Ready ready, bool follows = false);

  // The step before must be done.
  void begin_step(std::uint64_t step, std::shared_ptr<const PipelineProgram> program);
  // What the leader runs next, maybe of a step that has not begun here yet. A number that is repeated or left
  // out is a bug, and so is a leader of a rank that does not follow.
  void follow(OrderedInstruction led);

  // What the rank, done with the action before, runs now; its inputs are there and it counts as run. Nothing
  // while the rank has to wait, and at the end. `now`: seconds of a clock that only goes forward.
  std::optional<OrderedInstruction> next(double now);
  // After next() returned nothing: the time at which to call it again if no message arrives first. Returns
  // each time only once.
  std::optional<double> take_wakeup();
  // What an action takes on a device, in seconds; otherwise the order finds it by the calls of next().
  void set_mean_action(double seconds) { cursor_->set_mean_action(seconds); }
  bool step_done() const { return cursor_->done(); }

 private:
  const std::unique_ptr<ActionCursor> cursor_;
  const ActionCursor::Ready ready_;
  const bool follows_;
  std::uint64_t step_ = 0;
  std::uint32_t next_number_ = 0;  // of the step
  std::optional<double> last_wakeup_;
  std::deque<OrderedInstruction> led_;  // told by the leader and not run yet
  std::uint64_t led_step_ = 0;          // of what the leader told last
  std::uint32_t next_led_number_ = 0;   // of that step
};

}  // namespace d9d
