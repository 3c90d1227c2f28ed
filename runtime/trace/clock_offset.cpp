#include "runtime/trace/clock_offset.hpp"

#include <algorithm>

#include "runtime/base/error.hpp"

namespace d9d::trace {

ClockOffset::ClockOffset(std::size_t window) : window_(window) {
  D9D_CHECK(window > 0, "a clock window holds at least one exchange");
}

bool ClockOffset::add(const ClockExchange& exchange) {
  const std::int64_t here = exchange.local_received - exchange.local_sent;
  const std::int64_t there = exchange.remote_sent - exchange.remote_received;
  if (here < 0 || there < 0 || there > here) return false;
  const std::int64_t ahead_on_the_way = exchange.remote_received - exchange.local_sent;
  const std::int64_t ahead_on_the_way_back = exchange.remote_sent - exchange.local_received;
  // Halved apart: the sum of two absolute times of different clocks can overflow.
  const std::int64_t offset = ahead_on_the_way_back + (ahead_on_the_way - ahead_on_the_way_back) / 2;
  samples_.push_back({offset, here - there});
  if (samples_.size() > window_) samples_.pop_front();
  return true;
}

const ClockOffset::Sample* ClockOffset::best() const {
  const auto found = std::min_element(samples_.begin(), samples_.end(), [](const Sample& a, const Sample& b) {
    return a.round_trip < b.round_trip;
  });
  return found == samples_.end() ? nullptr : &*found;
}

std::int64_t ClockOffset::offset_ns() const {
  const Sample* sample = best();
  return sample == nullptr ? 0 : sample->offset;
}

std::int64_t ClockOffset::error_ns() const {
  const Sample* sample = best();
  return sample == nullptr ? 0 : (sample->round_trip + 1) / 2;
}

}  // namespace d9d::trace
