#pragma once
// The sleep of a thread that looks after something until it is stopped.

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <stop_token>

namespace d9d {

// Sleeps until `stop` is requested, `duration` at most; says whether it was. What wait_for() returns would not do:
// libstdc++ returns false, as after the whole duration, where the request comes between its look at the predicate
// and its look at the token.
inline bool stopped_within(const std::stop_token& stop, std::chrono::milliseconds duration) {
  std::mutex mutex;
  std::unique_lock lock(mutex);
  std::condition_variable_any woken;
  woken.wait_for(lock, stop, duration, [] { return false; });
  return stop.stop_requested();
}

}  // namespace d9d
