#include "runtime/pipeline/program/v_rank_writer.hpp"

#include <algorithm>

#include "runtime/base/error.hpp"

namespace d9d {

Action VRankWriter::weight(Chunk chunk) {
  const auto found = std::find_if(deferred_.begin(), deferred_.end(),
                                  [&](const Action& action) { return action.stage == stages_[chunk]; });
  D9D_CHECK(found != deferred_.end(), "no deferred weight work of stage {}", stages_[chunk]);
  const Action action = *found;
  deferred_.erase(found);
  return action;
}

Action VRankWriter::weight() {
  D9D_CHECK(!deferred_.empty(), "no deferred weight work of stages {} and {}", stages_[down], stages_[up]);
  const Action action = deferred_.front();
  deferred_.pop_front();
  return action;
}

bool VRankWriter::has_weight(Chunk chunk) const {
  return std::any_of(deferred_.begin(), deferred_.end(),
                     [&](const Action& action) { return action.stage == stages_[chunk]; });
}

}  // namespace d9d
