#pragma once
// Which ranks of a stage meet inside its actions. Pure integers.

#include <vector>

namespace d9d {

class Plan;

// The ranks that have to run the actions of a pipeline stage in one order with `rank`, itself among them,
// ascending: tensor, context and sharded data parallel ranks and those that share experts, and whoever these
// meet in turn. Replicas meet only in the reduction of gradients, outside of actions.
std::vector<int> action_peers(const Plan& plan, int rank);

}  // namespace d9d
