#pragma once
// Which ranks of a stage communicate inside its actions. Pure integers.

#include <vector>

namespace d9d {

class Plan;

// Returns the ranks that must run the actions of a pipeline stage in the same order as `rank`, including
// it, ascending. They are the ranks with which it communicates by tensor, context, expert and sharded data
// parallelism, those with which these communicate, and so on. Replicas communicate only to reduce
// gradients, outside of actions.
std::vector<int> action_peers(const Plan& plan, int rank);

}  // namespace d9d
