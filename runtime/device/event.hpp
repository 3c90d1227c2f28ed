#pragma once
// A place in the work of a device's stream, reached when everything before it has run. Cheap to copy.

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
  };

  // One that is reached: work of the CPU is done when its call returns.
  Event() = default;
  explicit Event(std::shared_ptr<const State> state) : state_(std::move(state)) {}

  bool done() const { return !state_ || state_->reached(); }
  // The calling thread stands still until the event is reached; counted with `reason` (host_waits.hpp) unless it is.
  void wait(const char* reason) const;
  const std::shared_ptr<const State>& state() const { return state_; }  // null: reached

 private:
  std::shared_ptr<const State> state_;
};

}  // namespace d9d
