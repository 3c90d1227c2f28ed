#include "runtime/job/plan/gradient_groups.hpp"

#include <fmt/ranges.h>

#include <algorithm>

#include "runtime/base/error.hpp"

namespace d9d {
namespace {

using Axes = std::vector<std::string>;

std::vector<GradientGroup> candidates(const std::vector<std::string>& scatter) {
  const auto without = [&](std::vector<std::string> axes) {
    std::erase_if(axes, [&](const std::string& axis) {
      return std::find(scatter.begin(), scatter.end(), axis) != scatter.end();
    });
    return axes;
  };
  const std::vector<std::string> all{"dp_replicate", "dp_cp_shard", "cp_replicate", "tp"};
  const std::vector<std::string> tensor_parallel{"dp_replicate", "dp_cp_shard", "cp_replicate"};
  return {{dense_domain, {}, all},
          {dense_domain, {}, tensor_parallel},
          {dense_domain, scatter, without(all)},
          {dense_domain, scatter, without(tensor_parallel)},
          {expert_domain, scatter.empty() ? scatter : Axes{"ep_replicate"}, {}},
          {expert_domain, {}, {"ep_replicate"}}};
}

std::vector<std::string> sorted(std::vector<std::string> axes) {
  std::sort(axes.begin(), axes.end());
  return axes;
}

}  // namespace

std::vector<GradientGroup> gradient_groups(const MeshDomains& domains, const ParallelOptions& options) {
  const bool fully_sharded = domains.mesh_for(dense_domain).axis_size("dp_cp_shard") > 1;
  std::vector<std::string> scatter;
  if (fully_sharded || options.zero1) scatter = {fully_sharded ? "dp_cp_shard" : "dp_replicate"};
  std::vector<GradientGroup> groups;
  for (GradientGroup group : candidates(scatter)) {
    const Mesh& mesh = domains.mesh_for(group.domain);
    const auto is_alone = [&](const std::string& axis) { return mesh.axis_size(axis) == 1; };
    std::erase_if(group.axes, is_alone);
    std::erase_if(group.scatter, is_alone);
    const bool known = std::any_of(groups.begin(), groups.end(), [&](const GradientGroup& other) {
      return other.domain == group.domain && other.scatter == group.scatter && other.axes == group.axes;
    });
    const bool reduces = !group.scatter.empty() || !group.axes.empty();
    if (reduces && !known) groups.push_back(std::move(group));
  }
  return groups;
}

int gradient_group_index(const std::vector<GradientGroup>& groups, const std::vector<std::string>& scatter,
                         const std::vector<std::string>& axes) {
  const auto is_wanted = [&](const GradientGroup& group) {
    return sorted(group.scatter) == sorted(scatter) && sorted(group.axes) == sorted(axes);
  };
  const auto found = std::find_if(groups.begin(), groups.end(), is_wanted);
  D9D_CHECK(found != groups.end(), "no group scatters gradients over {} and sums them over {}",
            fmt::join(scatter, ", "), fmt::join(axes, ", "));
  return static_cast<int>(found - groups.begin());
}

}  // namespace d9d
