#include "runtime/nn/shard/stage_groups.hpp"

#include "runtime/comm/communicator.hpp"
#include "runtime/comm/group_use.hpp"

namespace d9d {

StageGroups::StageGroups(const MeshDomains& domains, int rank, OpenGroup open)
    : domains_(domains), rank_(rank), open_(std::move(open)) {}

std::shared_ptr<Communicator> StageGroups::open(const std::string& domain,
                                                const std::vector<std::string>& axes,
                                                const std::string& use) {
  std::shared_ptr<Communicator>& group = opened_[{domain, axes, use}];
  if (group) return group;
  group = open_(domain, axes, use);
  if (group && !is_launched_beside_compute(use)) group->connect();
  return group;
}

}  // namespace d9d
