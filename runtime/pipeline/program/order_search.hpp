#pragma once
// Local search over action orders. Internal to program/.

#include <cstdint>

#include "runtime/pipeline/program/action_order.hpp"

namespace d9d {

struct SearchLimits {
  int held_max = 0;  // of every rank
  std::int64_t actions_max =
      0;              // to be timed in all: bounds the work, not the clock, so that all ranks agree
  double enough = 0;  // stop at this makespan
};

// The best order met on a walk from `order`: neighbours change one place of the critical path (two actions in
// turn, a W that goes elsewhere, a B split or joined). Late-acceptance hill climbing (Burke and Bykov, "The
// late acceptance hill-climbing heuristic", 2017) with numbers drawn from `seed`. Never worse than `order`,
// which must run and keep the limit.
ActionOrder search_order(const ActionOrder& order, const ActionTable& table, const SearchLimits& limits,
                         std::uint64_t seed);

}  // namespace d9d
