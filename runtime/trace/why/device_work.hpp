#pragma once
// Finds what the work of a device had to wait for: the work of the same rank that ended last
// before it, a tensor from another rank, the host's call that queued it, or the rank that came
// last to a collective.

#include <cstdint>
#include <map>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

#include "runtime/trace/record/recorder.hpp"

namespace d9d::trace {

class DeviceWork {
 public:
  // `recording` outlives it.
  explicit DeviceWork(const Recording& recording);

  bool is_late(int rank) const { return by_end_.contains(rank); }
  // Returns the rank's action, collective or copy that ended last, not after `ns`, on any stream;
  // null if none is recorded.
  const Span* last_before(int rank, std::int64_t ns) const;
  // Returns the last stall inside `work` that begins before `ns`; null if there is none.
  const Span* stall_in(const Span& work, std::int64_t ns) const;
  // Returns the span on another rank that computed the tensor which `work` copies, or that copied
  // it here; null if none is recorded.
  const Span* computed_for(const Span& work) const;
  // Returns the span in which the host queued the work.
  const Span* launch_of(const Span& work) const;

 private:
  const Recording& recording_;
  std::set<std::pair<std::uint64_t, int>> heard_;                       // of whose messages, which rank
  std::map<int, std::vector<const Span*>> by_end_;                      // by rank
  std::unordered_map<std::uint32_t, std::vector<const Span*>> stalls_;  // by track, by start
  std::unordered_map<std::uint64_t, const Span*> launches_, copies_;    // by flow
};

}  // namespace d9d::trace
