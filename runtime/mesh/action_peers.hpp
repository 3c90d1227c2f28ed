#pragma once
// Which ranks of a stage meet inside its actions. Pure integers.

#include <vector>

namespace d9d {

class Plan;

// The ranks that must run the actions of a pipeline stage
// in the same order as `rank`, including it, ascending:
// the ranks of tensor, context, expert and sharded data parallelism, and in turn the ranks with which these
// communicate. Replicas communicate only to reduce gradients, outside of actions.
std::vector<int> action_peers(const Plan& plan, int rank);

}  // namespace d9d
