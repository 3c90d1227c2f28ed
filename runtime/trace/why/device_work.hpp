#pragma once
// What devices did, for those who ask what work of a device had to wait for: the work of the same rank that ended last
// before it, what another rank handed over, the calls that gave it, the rank that came last to a collective.

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
  // Of the rank's actions, collectives and copies the one that ended last, not after `ns`, on any stream;
  // null: none is on record.
  const Span* last_before(int rank, std::int64_t ns) const;
  // When compute stands still inside of `work`: the last stall that begins before `ns`; null: none does.
  const Span* stall_in(const Span& work, std::int64_t ns) const;
  // Of another rank, what computed that which `work` copies, or which was copied for it; null: nothing is on record.
  const Span* computed_for(const Span& work) const;
  // The span of the host that gave the work.
  const Span* launch_of(const Span& work) const;

 private:
  const Recording& recording_;
  std::set<std::pair<std::uint64_t, int>> heard_;                       // of whose messages, which rank
  std::map<int, std::vector<const Span*>> by_end_;                      // by rank
  std::unordered_map<std::uint32_t, std::vector<const Span*>> stalls_;  // by track, by start
  std::unordered_map<std::uint64_t, const Span*> launches_, copies_;    // by flow
};

}  // namespace d9d::trace
