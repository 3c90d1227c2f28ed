#include "tests/bench/pipeline_gaps.hpp"

#include <algorithm>
#include <map>
#include <tuple>

namespace d9d {
namespace {

using Key = std::tuple<bool, int, int>;  // forward?, stage, microbatch

Key key_of(const Action& action) {
  return {action.kind == ActionKind::forward, action.stage, action.microbatch};
}

// When the outputs of all F and of all B and I were there.
std::map<Key, std::int64_t> ends_of(const SleepLog::Step& step) {
  std::map<Key, std::int64_t> ends;
  for (const auto& [rank, actions] : step) {
    for (const SleptAction& slept : actions) {
      for (const Action& part : slept.instruction.parts) {
        if (part.kind != ActionKind::backward_weight) ends[key_of(part)] = slept.end_ns;
      }
    }
  }
  return ends;
}

}  // namespace

void add_gaps(const SleepLog::Step& step, const Topology& topology, PipelineGaps& gaps) {
  const std::map<Key, std::int64_t> ends = ends_of(step);
  for (const auto& [rank, actions] : step) {
    std::int64_t rank_free = 0;
    for (const SleptAction& slept : actions) {
      std::int64_t needed = 0;
      for (const Action& part : slept.instruction.parts) {
        if (part.kind == ActionKind::backward_weight) continue;
        const bool forward = part.kind == ActionKind::forward;
        if (forward ? topology.is_first(part.stage) : topology.is_last(part.stage)) continue;
        needed = std::max(needed, ends.at({forward, part.stage + (forward ? -1 : 1), part.microbatch}));
      }
      if (needed > rank_free) {
        gaps.message.push_back(slept.begin_ns - needed);
      } else if (rank_free > 0) {
        gaps.local.push_back(slept.begin_ns - rank_free);
      }
      rank_free = slept.end_ns;
    }
  }
}

}  // namespace d9d
