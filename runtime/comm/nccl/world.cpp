#include "runtime/comm/nccl/world.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <mutex>

#include "runtime/base/error.hpp"
#include "runtime/comm/gather.hpp"
#include "runtime/comm/nccl/communicator.hpp"

namespace d9d::nccl {
namespace {

Group named(Group group, const char* use) {
  group.name += use;
  return group;
}

// The group's first rank makes the id and sends it to the others over the host.
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

// The channels that groups share, by name. Thread-safe.
class SharedChannels {
 public:
  // Another thread of the rank that wants the same channel waits while `connect` does.
  std::shared_ptr<Channel> of(const std::string& name,
                              const std::function<std::shared_ptr<Channel>()>& connect) {
    std::shared_ptr<Place> place;
    {
      const std::lock_guard lock(mutex_);
      std::shared_ptr<Place>& found = places_[name];
      if (!found) found = std::make_shared<Place>();
      place = found;
    }
    const std::lock_guard lock(place->connecting);
    std::shared_ptr<Channel> channel = place->channel.lock();
    if (!channel) place->channel = channel = connect();
    return channel;
  }

 private:
  struct Place {
    std::mutex connecting;
    std::weak_ptr<Channel> channel;
  };
  std::mutex mutex_;
  std::map<std::string, std::shared_ptr<Place>> places_;
};

// Shared by all communicators of a rank, so that they may outlive the World.
struct World::Shared {
  Shared(WorldOptions with, OpenHost host)
      : options(std::move(with)),
        open_host(std::move(host)),
        witnesses(std::make_shared<Witnesses>(options.rank)) {}

  const WorldOptions options;
  const OpenHost open_host;
  const std::shared_ptr<Witnesses> witnesses;
  SharedChannels channels;
  const std::shared_ptr<Watch> watch = std::make_shared<Watch>();
  const std::shared_ptr<comm::AbortFlag> ended = std::make_shared<comm::AbortFlag>();
};

World::World(WorldOptions options, OpenHost open_host)
    : shared_(std::make_shared<Shared>(std::move(options), std::move(open_host))) {}

World::~World() = default;

std::shared_ptr<Channel> World::connected(const Group& group) const {
  const WorldOptions& options = shared_->options;
  const Api& api = *options.api;
  const auto init = group.one_node || api.init_across == nullptr ? api.init : api.init_across;
  const auto host = shared_->open_host(named(group, "/nccl"));
  const UniqueId id = shared_id(api, *host);
  shared_->witnesses->join(group, shared_->open_host(named(group, "/witness")));
  auto channel =
      std::make_unique<Channel>(ChannelOptions{.api = api,
                                               .device = options.device,
                                               .group = group,
                                               .timeout = options.timeout,
                                               .witnesses = shared_->witnesses,
                                               .ended = shared_->ended},
                                [&](Comm* comm) { return init(comm, group.size(), id, group.index); });
  return watched(std::move(channel), shared_->watch);
}

std::unique_ptr<Communicator> World::open(const Group& group, const std::string& shared) {
  const WorldOptions& options = shared_->options;
  shared_->ended->throw_if_set("open", group.name, "nccl");
  options.openings->begin(options.rank, group.name);
  try {
    std::shared_ptr<Channel> channel;
    if (shared.empty()) {
      channel = connected(group);
    } else {
      Group of_all = group;
      of_all.name = shared;
      channel = shared_->channels.of(shared, [&] { return connected(of_all); });
    }
    auto communicator =
        make_communicator(group, std::move(channel), shared_->open_host(named(group, "/host")));
    options.openings->end(options.rank, group.name);
    return communicator;
  } catch (const Error& error) {
    throw Error(error.kind(), error.what() + options.openings->others(options.rank));
  }
}

void World::set_call_timeout(std::chrono::milliseconds timeout) {
  shared_->watch->set_timeout(timeout);
}

void World::abort(const std::string& reason) noexcept {
  shared_->ended->set("aborted: " + reason);
  shared_->watch->abort_all(reason);
}

}  // namespace d9d::nccl
