#pragma once
// Local search over action orders. Internal to program/.

#include <cstdint>

#include "runtime/pipeline/program/action_order.hpp"

namespace d9d {

struct SearchLimits {
  int held_max = 0;              // of every rank
  std::int64_t actions_max = 0;  // total number of timed actions; no clock, so that all ranks agree
  double enough = 0;             // stop at this makespan
};

// Returns the best order on a random walk from `order`. A step changes one place of the critical path: it
// swaps two actions, moves a W, or splits or joins a B. Late-acceptance hill climbing (Burke and Bykov, "The
// late acceptance hill-climbing heuristic", 2017) with numbers drawn from `seed`. The result is never worse
// than `order`, which must not deadlock and must keep the limit.
ActionOrder search_order(const ActionOrder& order, const ActionTable& table, const SearchLimits& limits,
                         std::uint64_t seed);

}  // namespace d9d
