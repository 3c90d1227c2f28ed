#include "actors/job/run/leave_watch.hpp"

#include <condition_variable>
#include <cstdlib>
#include <iostream>
#include <mutex>
#include <utility>

namespace d9d {

void leave_process(int exit_code) {
  std::cerr.flush();
  std::_Exit(exit_code);
}

LeaveWatch::LeaveWatch(std::chrono::milliseconds patience, std::function<void()> leave)
    : thread_([patience, leave = std::move(leave)](const std::stop_token& stop) {
        std::mutex mutex;
        std::unique_lock lock(mutex);
        std::condition_variable_any stopped;
        if (!stopped.wait_for(lock, stop, patience, [&] { return stop.stop_requested(); })) leave();
      }) {}

}  // namespace d9d
