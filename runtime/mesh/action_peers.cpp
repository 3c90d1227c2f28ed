#include "runtime/mesh/action_peers.hpp"

#include <set>

#include "runtime/mesh/plan.hpp"

namespace d9d {

std::vector<int> action_peers(const Plan& plan, int rank) {
  const Mesh& regular = plan.domains().mesh_for(regular_domain);
  const Mesh& expert = plan.domains().mesh_for(expert_domain);
  const bool fully_sharded = plan.domains().mesh_for(dense_domain).axis_size("dp_cp_shard") > 1;
  std::set<int> peers{rank};
  std::vector<int> to_visit{rank};
  const auto meet = [&](const std::vector<int>& group) {
    for (const int other : group) {
      if (peers.insert(other).second) to_visit.push_back(other);
    }
  };
  while (!to_visit.empty()) {
    const int next = to_visit.back();
    to_visit.pop_back();
    meet(regular.group(next, {"dp_shard", "cp_shard", "cp_replicate", "tp"}));
    meet(expert.group(next, {"ep_shard"}));
    // Fully sharded experts are gathered inside actions (fully_shard.hpp).
    if (fully_sharded && expert.axis_size("ep_shard") > 1) meet(expert.group(next, {"ep_replicate"}));
  }
  return {peers.begin(), peers.end()};
}

}  // namespace d9d
