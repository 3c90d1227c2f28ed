#pragma once
// Ends a process that waits too long for what nobody can take back: connections that do not close after the job,
// factories of users' code before it. Nothing is lost, because nothing is being written at either time.

#include <chrono>
#include <functional>
#include <thread>

namespace d9d {

// Ends the process without its destructors, which would wait for threads.
[[noreturn]] void leave_process(int exit_code);

class LeaveWatch {
 public:
  // Calls `leave`, on a thread of its own, if this object lives for longer than `patience`.
  LeaveWatch(std::chrono::milliseconds patience, std::function<void()> leave);

 private:
  std::jthread thread_;
};

}  // namespace d9d
