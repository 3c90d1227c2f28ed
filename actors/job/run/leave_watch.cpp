#include "actors/job/run/leave_watch.hpp"

#include <cstdlib>
#include <iostream>
#include <utility>

namespace d9d {

void leave_process(int exit_code) {
  std::cerr.flush();
  std::_Exit(exit_code);
}

LeaveWatch::LeaveWatch(std::chrono::milliseconds patience, std::function<void()> leave)
    : thread_([this, patience, leave = std::move(leave)] {
        std::unique_lock lock(mutex_);
        if (!changed_.wait_for(lock, patience, [this] { return closed_; })) leave();
      }) {}

LeaveWatch::~LeaveWatch() {
  {
    const std::lock_guard lock(mutex_);
    closed_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

}  // namespace d9d
