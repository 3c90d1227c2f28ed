#pragma once
// Viewers need the slices of a track to nest. An actor's spans do; for
// whatever does not (overlapping asynchronous work recorded on one actor) this
// finds the first of several lanes where a span nests with its neighbours.

#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

namespace d9d::trace {

class Lanes {
 public:
  // The lane for [start, end): its spans contain it, are contained by it, or do not touch it. Looks back over
  // the last `history` spans of each lane.
  std::size_t place(std::int64_t start_ns, std::int64_t end_ns);

 private:
  static constexpr std::size_t history = 64;
  struct Interval {
    std::int64_t start;
    std::int64_t end;
  };
  std::vector<std::deque<Interval>> lanes_;
};

}  // namespace d9d::trace
