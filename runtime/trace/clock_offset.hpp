#pragma once
// The difference between the clocks of two nodes, from request-reply exchanges. The exchange with the
// shortest round trip bounds the error best: D. Mills, RFC 5905, section 8 (offset) and 10 (clock filter:
// minimum delay).

#include <cstddef>
#include <cstdint>
#include <deque>

namespace d9d::trace {

// One exchange: the local clock when the request left and the reply came, the remote clock in between.
// Nanoseconds.
struct ClockExchange {
  std::int64_t local_sent = 0;
  std::int64_t remote_received = 0;
  std::int64_t remote_sent = 0;
  std::int64_t local_received = 0;
};

class ClockOffset {
 public:
  // Uses the best of the last `window` exchanges, so that it follows drift.
  explicit ClockOffset(std::size_t window = 64);

  // Adds an exchange. Returns false and ignores it if it runs backwards on either clock, or took
  // longer on the remote clock than on the local one.
  bool add(const ClockExchange& exchange);

  bool known() const { return !samples_.empty(); }
  // The number to add to the local clock for the remote clock's time; 0 while nothing is known.
  std::int64_t offset_ns() const;
  // The largest error of offset_ns(), however asymmetric the way is; 0 while nothing is known.
  std::int64_t error_ns() const;

 private:
  struct Sample {
    std::int64_t offset;
    std::int64_t round_trip;
  };
  const Sample* best() const;

  const std::size_t window_;
  std::deque<Sample> samples_;
};

}  // namespace d9d::trace
