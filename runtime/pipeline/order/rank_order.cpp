#include "runtime/pipeline/order/rank_order.hpp"

#include <utility>

#include "runtime/base/error.hpp"

namespace d9d {

RankOrder::RankOrder(std::unique_ptr<ActionCursor> cursor, ActionCursor::Ready ready, bool follows)
    : cursor_(std::move(cursor)), ready_(std::move(ready)), follows_(follows) {}

void RankOrder::begin_step(OrderedPass pass, std::shared_ptr<const PipelineProgram> program) {
  cursor_->start(std::move(program));
  pass_ = pass;
  next_number_ = 0;
}

void RankOrder::follow(OrderedInstruction led) {
  D9D_CHECK(follows_, "{} of step {} was announced to a rank that has no leader", to_string(led.instruction),
            led.pass.step);
  if (led.pass != led_pass_) next_led_number_ = 0;
  led_pass_ = led.pass;
  D9D_CHECK(led.number == next_led_number_, "action {} of step {} was announced where {} is next", led.number,
            led.pass.step, next_led_number_);
  ++next_led_number_;
  led_.push_back(std::move(led));
}

std::optional<OrderedInstruction> RankOrder::next(double now) {
  if (follows_) {
    // The leader may be a pass ahead: instructions of the next one wait for begin_step().
    if (led_.empty() || led_.front().pass != pass_) return {};
    if (!cursor_->follow(led_.front().instruction, ready_)) return {};
    OrderedInstruction led = std::move(led_.front());
    led_.pop_front();
    return led;
  }
  auto instruction = cursor_->advance(ready_, now);
  if (!instruction) return {};
  return OrderedInstruction{pass_, next_number_++, std::move(*instruction)};
}

std::optional<double> RankOrder::take_wakeup() {
  const std::optional<double> due = cursor_->next_wakeup();
  if (!due || due == last_wakeup_) return {};
  last_wakeup_ = due;
  return due;
}

}  // namespace d9d
