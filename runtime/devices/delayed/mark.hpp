#pragma once
// A place in the work of a delayed device's stream, and what comes of an exception in that work.

#include <atomic>
#include <cstdint>
#include <exception>
#include <memory>

#include "runtime/devices/delayed/clock.hpp"

namespace d9d::delayed {

class Machine;

// An exception in a piece of work. The pieces after that one are skipped until a host has been told.
struct Failure {
  std::exception_ptr error;
  std::atomic<std::uint32_t> told = 0;  // a bit for each device whose host has it
};

class Mark {
 public:
  Mark(Machine& machine, int stream, const Clock& known = {})
      : machine_(machine), stream_(stream), known_(known) {}
  bool reached() const { return reached_.load(std::memory_order_acquire); }
  std::int64_t reached_ns() const { return reached() ? reached_ns_ : 0; }  // device_time.hpp
  Machine& machine() const { return machine_; }
  // Of one that no stream was given: by work that runs.
  void set(std::int64_t now_ns) {
    reached_ns_ = now_ns;
    reached_.store(true, std::memory_order_release);
  }

 private:
  friend class Machine;
  Machine& machine_;
  const int stream_;
  const Clock known_;  // what has run when it is reached
  // Written before it is reached: the failure that it comes behind, and the time of its stream.
  std::shared_ptr<Failure> failure_;
  std::int64_t reached_ns_ = 0;
  std::atomic<bool> reached_ = false;
};

// True: work that waits for a mark waits no longer.
using Ended = std::shared_ptr<const std::atomic<bool>>;

}  // namespace d9d::delayed
