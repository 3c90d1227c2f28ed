#include "runtime/mesh/plan.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>

#include "runtime/base/count.hpp"
#include "runtime/base/error.hpp"

namespace d9d {
namespace {

// Lists up to 8 ranks. For more it lists the first, the second, the last and the number, which is still
// unique: groups of one role are disjoint.
std::string ranks_text(const std::vector<int>& ranks) {
  if (ranks.size() <= 8) return fmt::format("{}", fmt::join(ranks, ","));
  return fmt::format("{},{},..,{}; {} ranks", ranks[0], ranks[1], ranks.back(), ranks.size());
}

// Whether to print a role. The roles of shards and of split tokens need an axis of more than one rank;
// without it their groups are those of another role.
bool is_there(const Mesh& mesh, const GroupRole& role) {
  if (role.axes == std::vector<std::string>{"dp_replicate", "cp_replicate"}) {
    return mesh.group_size({"dp_cp_shard"}) > 1;
  }
  return role.axes != std::vector<std::string>{"dp", "cp"} || mesh.group_size({"cp"}) > 1;
}

std::string roles_text(const Plan& plan, bool has_experts) {
  std::string text;
  for (const GroupRole& role : standard_group_roles()) {
    if (role.domain == expert_domain && !has_experts) continue;
    const Mesh& mesh = plan.domains().mesh_for(role.domain);
    const int size = mesh.group_size(role.axes);
    if (size == 1 || !is_there(mesh, role)) continue;
    text +=
        fmt::format("  {:<36} {:>4} x {:<4} {}\n", role.name(), plan.world_size() / size, size, role.purpose);
  }
  return text.empty() ? "" : "groups (count x ranks):\n" + text;
}

std::string rank_line(const RankPlacement& p) {
  return fmt::format("  rank {:<5} node {:<4} local {:<3} pp {:<3} dp {:<4} cp {:<3} tp {}\n", p.rank, p.node,
                     p.local_index, p.pipeline, p.data, p.context, p.tensor);
}

int checked_sum(const std::vector<int>& ranks_per_node) {
  for (std::size_t node = 0; node < ranks_per_node.size(); ++node) {
    D9D_REQUIRE(ranks_per_node[node] >= 1, "node {} has {} ranks; every node of a job has at least one", node,
                ranks_per_node[node]);
  }
  return std::accumulate(ranks_per_node.begin(), ranks_per_node.end(), 0);
}

}  // namespace

std::string GroupRole::name() const {
  return fmt::format("{}", fmt::join(axes, "+"));
}

std::vector<GroupRole> standard_group_roles() {
  return {
      {flat_domain, {"world"}, "barriers, the step's loss and norm"},
      {regular_domain, {"pp"}, "activations and gradients between stages"},
      {batch_domain, {"dp"}, "loss weights and metrics of different samples"},
      {batch_domain, {"dp", "cp"}, "loss weights and metrics where tokens are split"},
      {batch_domain, {"cp"}, "attention over a split sequence"},
      {dense_domain,
       {"dp_replicate", "dp_cp_shard", "cp_replicate"},
       "gradients of replicated dense parameters"},
      {dense_domain, {"dp_replicate", "cp_replicate"}, "gradients of sharded dense parameters"},
      {dense_domain, {"dp_cp_shard"}, "blocks of sharded dense parameters"},
      {regular_domain, {"tp"}, "activations of tensor-parallel layers"},
      {expert_domain, {"ep_replicate"}, "gradients of experts"},
      {expert_domain, {"ep_shard"}, "tokens to and from experts"},
  };
}

Plan::Plan(const DeviceMeshParameters& parameters, const std::vector<int>& ranks_per_node,
           std::vector<std::uint64_t> host_numbers)
    : domains_((parameters.validate(checked_sum(ranks_per_node)), parameters)),
      ranks_per_node_(ranks_per_node),
      host_numbers_(std::move(host_numbers)) {
  host_numbers_.resize(ranks_per_node.size());
  const Mesh& batch = domains_.mesh_for(batch_domain);
  ranks_.reserve(world_size());
  for (int node = 0; node < num_nodes(); ++node) {
    for (int local = 0; local < ranks_per_node_[node]; ++local) {
      const int rank = static_cast<int>(ranks_.size());
      const std::vector<int> place = batch.coordinates(rank);
      ranks_.push_back({rank, node, local, place[0], place[1], place[2], place[3]});
    }
  }
}

const RankPlacement& Plan::placement(int rank) const {
  D9D_CHECK(rank >= 0 && rank < world_size(), "rank {} of a world of {}", rank, world_size());
  return ranks_[rank];
}

std::vector<int> Plan::ranks_of_node(int node) const {
  D9D_CHECK(node >= 0 && node < num_nodes(), "node {} of {}", node, num_nodes());
  std::vector<int> result(ranks_per_node_[node]);
  const int first = std::accumulate(ranks_per_node_.begin(), ranks_per_node_.begin() + node, 0);
  std::iota(result.begin(), result.end(), first);
  return result;
}

std::vector<int> Plan::ranks_of_host(int rank) const {
  const int node = placement(rank).node;
  const std::uint64_t host = host_numbers_[node];
  if (host == 0) return ranks_of_node(node);
  std::vector<int> result;
  for (const RankPlacement& each : ranks_) {
    if (host_numbers_[each.node] == host) result.push_back(each.rank);
  }
  return result;
}

Group Plan::group(int rank, const std::string& domain, const std::vector<std::string>& axes) const {
  Group group;
  group.ranks = domain == host_domain ? ranks_of_host(rank) : domains_.mesh_for(domain).group(rank, axes);
  group.index =
      static_cast<int>(std::find(group.ranks.begin(), group.ranks.end(), rank) - group.ranks.begin());
  group.name = fmt::format("{}[{}]", fmt::join(axes, "+"), ranks_text(group.ranks));
  // Ranks are numbered node by node and the group ascends, so comparing its first and last rank is enough.
  group.one_node = placement(group.ranks.front()).node == placement(group.ranks.back()).node;
  return group;
}

std::vector<Group> Plan::groups_of(int rank) const {
  std::vector<Group> result;
  for (const GroupRole& role : standard_group_roles()) {
    Group group = this->group(rank, role.domain, role.axes);
    if (group.size() > 1) result.push_back(std::move(group));
  }
  return result;
}

std::string Plan::text(bool has_experts, int lines_max) const {
  std::string text = fmt::format("{} on {}\n", counted(world_size(), "rank"), counted(num_nodes(), "node"));
  const Mesh& mesh = domains_.mesh_for(regular_domain);
  text += "mesh:";
  for (std::size_t axis = 0; axis < mesh.sizes().size(); ++axis) {
    text += fmt::format(" {}={}", mesh.axis_names()[axis], mesh.sizes()[axis]);
  }
  text += fmt::format(" ep={}\n", parameters().expert_parallel);
  text += roles_text(*this, has_experts);
  text += "ranks:\n";
  const int head = world_size() <= lines_max ? world_size() : lines_max / 2;
  for (int rank = 0; rank < head; ++rank) text += rank_line(ranks_[rank]);
  if (head < world_size()) {
    const int tail = world_size() - lines_max / 2;
    text += fmt::format("  .. {} more ..\n", tail - head);
    for (int rank = tail; rank < world_size(); ++rank) text += rank_line(ranks_[rank]);
  }
  return text;
}

}  // namespace d9d
