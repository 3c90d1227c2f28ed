#include "runtime/comm/factory.hpp"

#include <algorithm>

#include "runtime/base/error.hpp"
#include "runtime/comm/checked.hpp"
#include "runtime/comm/communicator.hpp"
#include "runtime/comm/single.hpp"

namespace d9d {

CommunicatorFactory::CommunicatorFactory(const Plan& plan, SharedMemoryHub& hub, GlooTransport* gloo,
                                         CommunicatorOptions options)
    : plan_(plan), hub_(hub), gloo_(gloo), options_(options) {}

std::unique_ptr<Communicator> CommunicatorFactory::open(int rank, const std::string& domain,
                                                        const std::vector<std::string>& axes,
                                                        const std::string& use) const {
  return open_group(plan_.group(rank, domain, axes), use);
}

std::unique_ptr<Communicator> CommunicatorFactory::open_pair(int rank, int sender, int receiver,
                                                             const std::string& use) const {
  D9D_CHECK(sender != receiver && (rank == sender || rank == receiver), "rank {} is not of the pair {} > {}",
            rank, sender, receiver);
  Group group;
  group.name = fmt::format("pair[{}>{}]", sender, receiver);
  group.ranks = {std::min(sender, receiver), std::max(sender, receiver)};
  group.index = rank == group.ranks[0] ? 0 : 1;
  group.one_node = plan_.placement(sender).node == plan_.placement(receiver).node;
  return open_group(std::move(group), use);
}

std::unique_ptr<Communicator> CommunicatorFactory::open_group(Group group, const std::string& use) const {
  group.name = fmt::format("{}/{}@{}", group.name, use, options_.epoch);
  if (group.size() == 1) return std::make_unique<SingleCommunicator>(group.name);
  if (group.one_node) return hub_.open(group, options_.timeout);
  D9D_CHECK(gloo_ != nullptr, "group {} spans nodes and there is no transport between them", group.name);
  std::unique_ptr<Communicator> communicator = gloo_->open(group, options_.timeout);
  return options_.check_collectives ? make_checked(std::move(communicator)) : std::move(communicator);
}

}  // namespace d9d
