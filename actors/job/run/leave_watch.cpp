#include "actors/job/run/leave_watch.hpp"

#include <cstdlib>
#include <iostream>
#include <utility>

#include "runtime/base/stopped_within.hpp"

namespace d9d {

void leave_process(int exit_code) {
  std::cerr.flush();
  std::_Exit(exit_code);
}

LeaveWatch::LeaveWatch(std::chrono::milliseconds patience, std::function<void()> leave)
    : thread_([patience, leave = std::move(leave)](const std::stop_token& stop) {
        if (!stopped_within(stop, patience)) leave();
      }) {}

}  // namespace d9d
