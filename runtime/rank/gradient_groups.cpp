#include "runtime/rank/gradient_groups.hpp"

#include <fmt/ranges.h>

#include <algorithm>

#include "runtime/base/error.hpp"

namespace d9d {
namespace {

const std::vector<GradientGroup>& candidates() {
  static const std::vector<GradientGroup> all{
      {kDenseDomain, {"dp_replicate", "dp_cp_shard", "cp_replicate", "tp"}},
      {kDenseDomain, {"dp_replicate", "dp_cp_shard", "cp_replicate"}},
      {kDenseDomain, {"dp_replicate", "cp_replicate", "tp"}},
      {kDenseDomain, {"dp_replicate", "cp_replicate"}},
      {kExpertDomain, {"ep_replicate"}},
  };
  return all;
}

std::vector<std::string> sorted(std::vector<std::string> axes) {
  std::sort(axes.begin(), axes.end());
  return axes;
}

}  // namespace

std::vector<GradientGroup> gradient_groups(const MeshDomains& domains) {
  std::vector<GradientGroup> groups;
  for (GradientGroup group : candidates()) {
    const Mesh& mesh = domains.mesh_for(group.domain);
    std::erase_if(group.axes, [&](const std::string& axis) { return mesh.axis_size(axis) == 1; });
    const bool known = std::any_of(groups.begin(), groups.end(), [&](const GradientGroup& other) {
      return other.domain == group.domain && other.axes == group.axes;
    });
    if (!group.axes.empty() && !known) groups.push_back(std::move(group));
  }
  return groups;
}

int gradient_group_index(const std::vector<GradientGroup>& groups, const std::vector<std::string>& axes) {
  const auto found = std::find_if(
      groups.begin(), groups.end(),
      [wanted = sorted(axes)](const GradientGroup& group) { return sorted(group.axes) == wanted; });
  D9D_CHECK(found != groups.end(), "no group sums gradients over {}", fmt::join(axes, ", "));
  return static_cast<int>(found - groups.begin());
}

}  // namespace d9d
