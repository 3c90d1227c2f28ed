#pragma once
// Where each rank runs: a pure function of the mesh and of the number of ranks on each node, so every node
// computes the same plan. `d9d-node check` prints it. No torch, no actors.

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/mesh/domains.hpp"

namespace d9d {

// Ranks are numbered node by node.
struct RankPlacement {
  int rank = 0;  // global
  int node = 0;
  int local_index = 0;  // on its node
  int pipeline = 0;     // coordinate on pp
  int data = 0;         // coordinate on dp of the batch domain: selects its samples
  int context = 0;      // coordinate on cp of the batch domain: selects its tokens of each sample
  int tensor = 0;       // coordinate on tp
};

// A set of ranks that communicate, as one of them sees it.
struct Group {
  std::string name;        // the same on all members, unique in the plan: "dp[0,2]"
  std::vector<int> ranks;  // global, ascending; a member's position is its rank in the group
  int index = 0;           // this rank's position
  bool one_node = true;    // all members are on one node

  int size() const { return static_cast<int>(ranks.size()); }
};

// Axes of a domain over which a job may communicate.
struct GroupRole {
  std::string domain;
  std::vector<std::string> axes;
  std::string purpose;       // for people
  std::string name() const;  // axes joined by '+': "dp_replicate+cp_replicate"
};
// The roles that a job may need. A group of one rank needs no communicator.
std::vector<GroupRole> standard_group_roles();

class Plan {
 public:
  // `host_numbers`: by node; nodes of one number run on one host. A node without one, or with 0, is alone on its host.
  // Input error if the number of ranks does not match the mesh, or if a node has none.
  Plan(const DeviceMeshParameters& parameters, const std::vector<int>& ranks_per_node,
       std::vector<std::uint64_t> host_numbers = {});

  const MeshDomains& domains() const { return domains_; }
  const DeviceMeshParameters& parameters() const { return domains_.parameters(); }
  int world_size() const { return domains_.world_size(); }
  int num_nodes() const { return static_cast<int>(ranks_per_node_.size()); }
  const std::vector<int>& ranks_per_node() const { return ranks_per_node_; }
  const std::vector<RankPlacement>& ranks() const { return ranks_; }
  const RankPlacement& placement(int rank) const;
  // Returns the global ranks of a node, ascending.
  std::vector<int> ranks_of_node(int node) const;
  // Returns the global ranks on the host of this rank, ascending.
  std::vector<int> ranks_of_host(int rank) const;

  // `domain`: of the mesh, or host_domain with the axis of that name: the ranks of a host.
  Group group(int rank, const std::string& domain, const std::vector<std::string>& axes) const;
  // Returns the groups of `rank` for all standard roles, except groups of one rank.
  std::vector<Group> groups_of(int rank) const;

  // Returns the mesh, the groups by role, and a line per rank. Leaves out the middle ranks beyond `lines_max`.
  // Without experts in the model no group reduces their gradients, so none is listed.
  std::string text(bool has_experts = true, int lines_max = 64) const;

 private:
  MeshDomains domains_;
  std::vector<int> ranks_per_node_;
  std::vector<std::uint64_t> host_numbers_;  // one for each node
  std::vector<RankPlacement> ranks_;
};

}  // namespace d9d
