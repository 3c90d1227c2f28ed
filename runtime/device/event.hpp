#pragma once
// A mark between the work of a device's stream. It is reached when all earlier work has run. Cheap to copy.

#include <cstdint>
#include <memory>

namespace d9d {

class Event {
 public:
  // The device's implementation. Thread-safe.
  class State {
   public:
    virtual ~State() = default;
    virtual bool reached() const = 0;
    virtual void wait() const = 0;
    virtual std::int64_t reached_ns() const { return 0; }
  };

  // Makes an event that is reached already, as all events of the CPU are.
  Event() = default;
  explicit Event(std::shared_ptr<const State> state) : state_(std::move(state)) {}

  bool done() const { return !state_ || state_->reached(); }
  // Blocks the calling thread until the event is reached. Counts a wait for `reason` (host_waits.hpp),
  // unless it is reached already.
  void wait(const char* reason) const;
  // Returns when the stream reached the event, as SystemClock::now_ns() counts. 0: not reached yet, or not
  // recorded by Device::record_time. Does not wait and is no synchronisation: results of earlier work may
  // not be visible yet.
  std::int64_t reached_ns() const { return state_ ? state_->reached_ns() : 0; }
  const std::shared_ptr<const State>& state() const { return state_; }  // null: reached

 private:
  std::shared_ptr<const State> state_;
};

}  // namespace d9d
