#pragma once
// A place in the work of a device's stream, reached when everything before it has run. Cheap to copy.

#include <cstdint>
#include <memory>

namespace d9d {

class Event {
 public:
  // What a device knows of it. Any thread.
  class State {
   public:
    virtual ~State() = default;
    virtual bool reached() const = 0;
    virtual void wait() const = 0;
    virtual std::int64_t reached_ns() const { return 0; }
  };

  // One that is reached: work of the CPU is done when its call returns.
  Event() = default;
  explicit Event(std::shared_ptr<const State> state) : state_(std::move(state)) {}

  bool done() const { return !state_ || state_->reached(); }
  // The calling thread stands still until the event is reached; counted with `reason` (host_waits.hpp) unless it is.
  void wait(const char* reason) const;
  // When its stream came to it, on the scale of SystemClock::now_ns(). 0: not yet, or the device does not tell it of
  // this event (Device::record_time). Asking is no wait, and what came before is not known to the caller by it.
  std::int64_t reached_ns() const { return state_ ? state_->reached_ns() : 0; }
  const std::shared_ptr<const State>& state() const { return state_; }  // null: reached

 private:
  std::shared_ptr<const State> state_;
};

}  // namespace d9d
