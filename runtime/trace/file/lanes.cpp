#include "runtime/trace/file/lanes.hpp"

#include <algorithm>

namespace d9d::trace {

std::size_t Lanes::place(std::int64_t start_ns, std::int64_t end_ns) {
  const auto nests = [&](const Interval& other) {
    const bool apart = end_ns <= other.start || other.end <= start_ns;
    const bool inside = other.start <= start_ns && end_ns <= other.end;
    const bool around = start_ns <= other.start && other.end <= end_ns;
    return apart || inside || around;
  };
  std::size_t lane = 0;
  while (lane < lanes_.size() && !std::all_of(lanes_[lane].begin(), lanes_[lane].end(), nests)) ++lane;
  if (lane == lanes_.size()) lanes_.emplace_back();
  lanes_[lane].push_back({start_ns, end_ns});
  if (lanes_[lane].size() > history) lanes_[lane].pop_front();
  return lane;
}

}  // namespace d9d::trace
