#include "runtime/comm/nccl/world.hpp"

#include <ATen/ops/zeros.h>

#include <algorithm>

#include "runtime/base/error.hpp"
#include "runtime/comm/gather.hpp"
#include "runtime/comm/nccl/communicator.hpp"

namespace d9d::nccl {
namespace {

Group named(Group group, const char* use) {
  group.name += use;
  return group;
}

// "dp[0,2]/stage@1" -> "dp/stage@1": the same for all groups of a role.
std::string role_of(const std::string& group) {
  const std::size_t open = group.find('['), close = group.find(']', open);
  if (open == std::string::npos || close == std::string::npos) return group;
  return group.substr(0, open) + group.substr(close + 1);
}

// Made by the group's first rank, told over the host.
UniqueId shared_id(const Api& api, Communicator& host) {
  UniqueId id{};
  std::string mine, why;
  if (host.rank() == 0) {
    const int result = api.unique_id(&id);
    if (result == success) mine.assign(id.bytes.data(), id.bytes.size());
    if (result != success) why = fmt::format(": {}", api.text_of(result));
  }
  const std::string first = all_gather_bytes(host, mine).front();
  if (first.size() != id.bytes.size())
    comm::fail_in_group("open", host.name(), "nccl", "its first rank could not make a unique id" + why);
  std::copy(first.begin(), first.end(), id.bytes.begin());
  return id;
}

}  // namespace

// What the communicators of a rank have in common.
struct World::Shared {
  Shared(WorldOptions with, OpenHost host)
      : options(std::move(with)),
        open_host(std::move(host)),
        witnesses(
            std::make_shared<Witnesses>(options.group.ranks[static_cast<std::size_t>(options.group.index)])) {
  }
  ~Shared() {
    if (root) root->close();
  }

  ChannelOptions channel_options(const Group& group) {
    return {.api = *options.api,
            .device = options.device,
            .group = group,
            .timeout = options.timeout,
            .witnesses = witnesses};
  }

  const WorldOptions options;
  const OpenHost open_host;
  const std::shared_ptr<Witnesses> witnesses;
  const std::shared_ptr<Watch> watch = std::make_shared<Watch>();
  std::unique_ptr<Channel> root;
};

World::World(WorldOptions options, OpenHost open_host)
    : shared_(std::make_shared<Shared>(std::move(options), std::move(open_host))),
      host_(shared_->open_host(named(shared_->options.group, "/nccl"))) {
  const Group& all = shared_->options.group;
  const UniqueId id = shared_id(*shared_->options.api, *host_);
  shared_->root = std::make_unique<Channel>(shared_->channel_options(all), [&](Comm* comm) {
    return shared_->options.api->init(comm, all.size(), id, all.index);
  });
}

World::~World() = default;

std::unique_ptr<Communicator> World::connected(const Group& group, const Channel::Open& make) const {
  ChannelOptions options = shared_->channel_options(group);
  shared_->witnesses->join(group, shared_->open_host(named(group, "/witness")));
  options.parent = shared_;
  auto channel = std::make_unique<Channel>(std::move(options), make);
  Channel& raw = *channel;
  auto communicator =
      make_communicator(std::move(channel), shared_->open_host(named(group, "/host")), shared_->watch);
  // NCCL connects at the first collective, which would be in the middle of a step.
  const c10::DeviceType type = shared_->options.api->device_type;
  // The CPU, which stands for a GPU in tests, has no index.
  const int index = type == c10::DeviceType::CPU ? -1 : shared_->options.device;
  const c10::Device device(type, static_cast<c10::DeviceIndex>(index));
  at::Tensor one = at::zeros({1}, at::TensorOptions(device));
  communicator->all_reduce(one, ReduceOp::sum).wait();
  raw.finish("open");
  return communicator;
}

std::unique_ptr<Communicator> World::open(const Group& group, OpenedBy by) {
  if (by == OpenedBy::members) return open_alone(group);
  const std::string role = role_of(group.name);
  const std::vector<std::string> roles = all_gather_bytes(*host_, role);
  const std::vector<int>& ranks = shared_->options.group.ranks;
  const auto other = std::find_if(roles.begin(), roles.end(), [&](const auto& r) { return r != role; });
  D9D_CHECK(other == roles.end(), "rank {} opens a group \"{}\" where rank {} opens \"{}\"",
            ranks[static_cast<std::size_t>(other - roles.begin())], *other,
            ranks[static_cast<std::size_t>(shared_->options.group.index)], role);
  return connected(group,
                   [&](Comm* comm) { return shared_->root->split(group.ranks.front(), group.index, comm); });
}

std::unique_ptr<Communicator> World::open_alone(const Group& group) const {
  const auto host = shared_->open_host(named(group, "/nccl"));
  const UniqueId id = shared_id(*shared_->options.api, *host);
  return connected(
      group, [&](Comm* comm) { return shared_->options.api->init(comm, group.size(), id, group.index); });
}

}  // namespace d9d::nccl
