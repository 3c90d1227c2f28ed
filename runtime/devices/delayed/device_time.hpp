#pragma once
// When a delayed device would have done its work, had it begun each piece as early as its stream, the events that it
// waited for and the host that gave it allow, with all streams side by side. A piece takes what it took where it ran,
// or what somebody planted. No time is later than that at which a host can know of it. On the scale of SystemClock.

#include <cstdint>
#include <functional>
#include <string>

#include "runtime/devices/delayed/order_check.hpp"

namespace d9d::delayed {

struct PlantedTimes {
  // Nanoseconds that a piece of work takes, instead of what it took. Called by one thread at a time, for the pieces of
  // a stream in their order.
  std::function<std::int64_t(const Given&)> cost;
  // The host's clock, for devices only. Empty: the real one; hosts then stand still until planted work is over.
  std::function<std::int64_t()> host_ns = {};
};
// From here on, in all of the process, while no device works; {}: what is true. The first device of a process plants
// costs_of(D9D_DELAYED_COSTS), if that is set.
void plant(PlantedTimes times);
// "F=2,B=4.5,communicate=0.1": milliseconds of each action of a kind, and of each piece of work on streams for
// collectives, or on compute streams beside that; the rest takes no time. Input error with another text.
std::function<std::int64_t(const Given&)> costs_of(const std::string& text);

std::int64_t host_time_ns();
// Of a place that a stream came to: the calling host stands still until then, or may not know of it yet.
void wait_for_planted(std::int64_t reached_ns);
bool is_yet_to_come(std::int64_t reached_ns);

// The work that this thread does for a stream, until the scope ends.
class TimedPiece {
 public:
  TimedPiece(std::int64_t begin_ns, const Given& given);
  ~TimedPiece();
  TimedPiece(const TimedPiece&) = delete;
  TimedPiece& operator=(const TimedPiece&) = delete;
  std::int64_t end_ns() const;  // if it ended now

 private:
  const TimedPiece* const outer_;
  const std::int64_t begin_ns_;
  const std::int64_t planted_ns_;  // -1: what it takes
  const std::int64_t started_ns_;
};
// The end of the piece that runs on this thread.
std::int64_t end_of_this_piece();

}  // namespace d9d::delayed
