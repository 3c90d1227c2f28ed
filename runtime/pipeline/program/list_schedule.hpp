#pragma once
// Builds programs by list scheduling: it simulates time, and each free rank takes the best action that
// it could run now. No set of rules is best for all costs; the search tries many and starts from the
// good ones. Internal to program/.

#include <vector>

#include "runtime/pipeline/program/action_order.hpp"

namespace d9d {

enum class Prefer { gradient, forward, alternate };      // when both could run
enum class ForwardOrder { depth_first, breadth_first };  // among the stages of a rank

struct ListRules {
  Prefer prefer = Prefer::gradient;
  ForwardOrder forwards = ForwardOrder::depth_first;  // breadth first: in groups of `ranks` microbatches
  bool split = false;                                 // I and W instead of B
  // By rank: a forward begins only while fewer cells than this are between F and the end of B or I ...
  std::vector<int> live_max;
  // ... and fewer than this are between F and the end of B or W. At least the stages of a rank.
  int held_max = 0;
  std::vector<int> pending_max;  // by rank: with more W than this waiting, a W goes first
  // With nothing else to run now, a W begins only if the next I or F comes later than this share of its cost.
  double patience = 0;
};

// Builds an order. It always ends, because a forward leaves room for one cell
// of every later stage of its rank.
ActionOrder list_schedule(const ActionTable& table, const ListRules& rules);

}  // namespace d9d
