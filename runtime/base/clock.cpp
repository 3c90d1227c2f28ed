#include "runtime/base/clock.hpp"

#include <chrono>

namespace d9d {
namespace {

template <class ClockType>
std::int64_t nanoseconds_now() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(ClockType::now().time_since_epoch()).count();
}

}  // namespace

std::int64_t SystemClock::now_ns() const {
  return nanoseconds_now<std::chrono::steady_clock>();
}

std::int64_t SystemClock::wall_ns() const {
  return nanoseconds_now<std::chrono::system_clock>();
}

}  // namespace d9d
