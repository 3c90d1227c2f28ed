#pragma once
// A clock that callers pass in, so that the same code also runs under a virtual clock in tests.

#include <cstdint>

namespace d9d {

class Clock {
 public:
  virtual ~Clock() = default;
  // Monotonic nanoseconds; the zero is arbitrary but the same for all threads of a process.
  virtual std::int64_t now_ns() const = 0;
  // Nanoseconds since 1970 (UTC), for files that people and other hosts read.
  virtual std::int64_t wall_ns() const = 0;
};

class SystemClock final : public Clock {
 public:
  std::int64_t now_ns() const override;
  std::int64_t wall_ns() const override;
};

}  // namespace d9d
