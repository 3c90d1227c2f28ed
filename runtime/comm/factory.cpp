#include "runtime/comm/factory.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <mutex>

#include "runtime/base/error.hpp"
#include "runtime/comm/communicator.hpp"
#include "runtime/comm/decorators/checked.hpp"
#include "runtime/comm/group_use.hpp"
#include "runtime/comm/nccl/world.hpp"
#include "runtime/comm/processes/hybrid.hpp"
#include "runtime/comm/shared_memory/single.hpp"

namespace d9d {
namespace {

// Returns how many ranks of the group each of its nodes has, or 0 if the nodes differ. Ranks
// ascend node by node.
int ranks_per_node(const Plan& plan, const Group& group) {
  std::map<int, int> on_node;
  for (const int rank : group.ranks) ++on_node[plan.placement(rank).node];
  const int first = on_node.begin()->second;
  const bool alike =
      std::all_of(on_node.begin(), on_node.end(), [&](const auto& n) { return n.second == first; });
  return alike ? first : 0;
}

}  // namespace

// One NCCL world per rank, made when the rank opens its first group.
struct CommunicatorFactory::NcclWorlds {
  nccl::World& of(int rank, const CommunicatorOptions& options, const nccl::OpenHost& open_host) {
    const std::lock_guard lock(mutex);
    auto& world = worlds[rank];
    if (world) return *world;
    world = std::make_unique<nccl::World>(
        nccl::WorldOptions{options.devices.nccl, options.devices.device_of(rank), rank, options.timeout,
                           openings},
        open_host);
    if (!aborted.empty()) world->abort(aborted);
    return *world;
  }
  void set_call_timeout(int rank, std::chrono::milliseconds timeout) {
    const std::lock_guard lock(mutex);
    const auto found = worlds.find(rank);
    if (found != worlds.end()) found->second->set_call_timeout(timeout);
  }
  void abort(const std::string& reason) noexcept {
    const std::lock_guard lock(mutex);
    aborted = reason;
    for (const auto& [rank, world] : worlds) world->abort(reason);
  }

  std::mutex mutex;
  std::map<int, std::unique_ptr<nccl::World>> worlds;
  const std::shared_ptr<nccl::Openings> openings = std::make_shared<nccl::Openings>();
  std::string aborted;
};

CommunicatorFactory::CommunicatorFactory(const Plan& plan, SharedMemoryHub& hub, SocketTransport* transport,
                                         CommunicatorOptions options)
    : plan_(plan),
      hub_(hub),
      transport_(transport),
      options_(std::move(options)),
      worlds_(std::make_unique<NcclWorlds>()) {}

CommunicatorFactory::~CommunicatorFactory() = default;

void CommunicatorFactory::abort_devices(const std::string& reason) const noexcept {
  devices_->abort_all(reason);
  worlds_->abort(reason);
}

std::unique_ptr<Communicator> CommunicatorFactory::open(int rank, const std::string& domain,
                                                        const std::vector<std::string>& axes,
                                                        const std::string& use) const {
  return open_group(plan_.group(rank, domain, axes), use);
}

std::unique_ptr<Communicator> CommunicatorFactory::open_on_host(int rank, const std::string& domain,
                                                                const std::vector<std::string>& axes,
                                                                const std::string& use) const {
  return open_group(plan_.group(rank, domain, axes), use, /*on_host=*/true);
}

std::unique_ptr<Communicator> CommunicatorFactory::open_pair(int rank, int sender, int receiver,
                                                             const std::string& use) const {
  return open_group(pair_of(rank, sender, receiver), use);
}

std::unique_ptr<Communicator> CommunicatorFactory::open_pair_on_host(int rank, int sender, int receiver,
                                                                     const std::string& use) const {
  return open_group(pair_of(rank, sender, receiver), use, /*on_host=*/true);
}

Group CommunicatorFactory::pair_of(int rank, int sender, int receiver) const {
  D9D_CHECK(sender != receiver && (rank == sender || rank == receiver), "rank {} is not of the pair {} > {}",
            rank, sender, receiver);
  Group group;
  group.name = fmt::format("pair[{}>{}]", sender, receiver);
  group.ranks = {std::min(sender, receiver), std::max(sender, receiver)};
  group.index = rank == group.ranks[0] ? 0 : 1;
  group.one_node = plan_.placement(sender).node == plan_.placement(receiver).node;
  return group;
}

void CommunicatorFactory::set_call_timeout(int rank, std::chrono::milliseconds timeout) const {
  worlds_->set_call_timeout(rank, timeout);
}

std::unique_ptr<Communicator> CommunicatorFactory::open_group(Group group, const std::string& use,
                                                              bool on_host) const {
  group.name = fmt::format("{}/{}@{}", group.name, use, options_.epoch);
  if (group.size() == 1) return std::make_unique<SingleCommunicator>(group.name);
  D9D_CHECK(group.one_node || transport_ != nullptr,
            "group {} spans nodes and there is no transport between them", group.name);
  const bool of_host = on_host || options_.devices.kind == DeviceCollectives::Kind::none;
  std::unique_ptr<Communicator> communicator =
      of_host ? open_host(group, is_launched_beside_compute(use)) : open_devices(group, use);
  if (!options_.check_collectives) return communicator;
  return make_checked(std::move(communicator), group.ranks[static_cast<std::size_t>(group.index)]);
}

std::unique_ptr<Communicator> CommunicatorFactory::open_host(const Group& group, bool late) const {
  return group.one_node ? hub_.open(group, options_.timeout) : open_across_nodes(group, late);
}

std::unique_ptr<Communicator> CommunicatorFactory::open_devices(const Group& group,
                                                                const std::string& use) const {
  if (options_.devices.kind == DeviceCollectives::Kind::nccl) {
    const int rank = group.ranks[static_cast<std::size_t>(group.index)];
    nccl::World& world =
        worlds_->of(rank, options_, [this](const Group& host) { return open_host(host, /*late=*/true); });
    const std::string shared =
        is_launched_beside_compute(use)
            ? fmt::format("beside compute[{}]@{}", fmt::join(group.ranks, ","), options_.epoch)
            : "";
    auto communicator = world.open(group, shared);
    if (options_.devices.call_timeout.count() > 0) communicator->set_timeout(options_.devices.call_timeout);
    return communicator;
  }
  D9D_CHECK(group.one_node, "group {} spans nodes, and its devices sum locally", group.name);
  Group host = group;
  host.name += "/host";
  return devices_->open(group, hub_.open(host, options_.timeout), options_.timeout);
}

std::unique_ptr<Communicator> CommunicatorFactory::open_across_nodes(const Group& group, bool late) const {
  const auto open = [&](const Group& of) {
    return late ? transport_->open_late(of, options_.timeout) : transport_->open(of, options_.timeout);
  };
  const int per_node = ranks_per_node(plan_, group);
  if (per_node < 2) return open(group);
  const int node = group.index / per_node;
  const int position = group.index % per_node;
  Group local{fmt::format("{} node {}", group.name, node), {}, position, true};
  Group across{fmt::format("{} position {}", group.name, position), {}, node, false};
  for (int index = 0; index < group.size(); ++index) {
    if (index / per_node == node) local.ranks.push_back(group.ranks[index]);
    if (index % per_node == position) across.ranks.push_back(group.ranks[index]);
  }
  return make_hybrid({group, per_node, hub_.open(local, options_.timeout), open(across), open(group)});
}

}  // namespace d9d
