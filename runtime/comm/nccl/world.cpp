#include <fmt/format.h>

#include "runtime/comm/nccl/world.hpp"

#include <algorithm>
#include <vector>

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

// The channels of a rank. Thread-safe.
class Channels {
 public:
  // The channel that groups share under this name. Another thread of the rank that wants the same one waits while
  // `make` opens the way to its members.
  std::shared_ptr<LateChannel> shared(const std::string& name,
                                      const std::function<std::shared_ptr<LateChannel>()>& make) {
    std::shared_ptr<Place> place;
    {
      const std::lock_guard lock(mutex_);
      std::shared_ptr<Place>& found = places_[name];
      if (!found) found = std::make_shared<Place>();
      place = found;
    }
    const std::lock_guard lock(place->making);
    std::shared_ptr<LateChannel> channel = place->channel.lock();
    if (!channel) place->channel = channel = make();
    return channel;
  }

  void add(LateChannel& channel) {
    const std::lock_guard lock(mutex_);
    all_.push_back(&channel);
  }
  // From then on for_each() does not see it.
  void remove(const LateChannel& channel) {
    const std::lock_guard lock(mutex_);
    std::erase(all_, &channel);
  }
  void for_each(const std::function<void(LateChannel&)>& work) {
    const std::lock_guard lock(mutex_);
    for (LateChannel* const channel : all_) work(*channel);
  }

 private:
  struct Place {
    std::mutex making;
    std::weak_ptr<LateChannel> channel;
  };
  std::mutex mutex_;
  std::map<std::string, std::shared_ptr<Place>> places_;
  std::vector<LateChannel*> all_;
};

// Shared by all communicators of a rank, so that they may outlive the World.
struct World::Shared {
  Shared(WorldOptions with, OpenHost host)
      : options(std::move(with)),
        open_host(std::move(host)),
        witnesses(std::make_shared<Witnesses>(options.rank)) {}

  // The members meet over `host`, which the witnesses have from then on. No member launches before all are connected:
  // one whose GPU waits in a collective may keep its host from what the connections of the others still need
  // (nccl#581, nccl#623).
  std::shared_ptr<Channel> connect(const Group& group, const std::shared_ptr<Communicator>& host,
                                   std::chrono::milliseconds timeout) const {
    const Api& api = *options.api;
    const auto init = group.one_node || api.init_across == nullptr ? api.init : api.init_across;
    options.openings->begin(options.rank, group.name);
    try {
      host->set_timeout(timeout);
      const UniqueId id = shared_id(api, *host);
      auto channel =
          std::make_unique<Channel>(ChannelOptions{api, options.device, group, timeout, witnesses, ended},
                                    [&](Comm* comm) { return init(comm, group.size(), id, group.index); });
      host->barrier();
      witnesses->join(group, host);
      options.openings->end(options.rank, group.name);
      return watched(std::move(channel), watch);
    } catch (const Error& error) {
      throw Error(error.kind(), error.what() + options.openings->others(options.rank));
    }
  }

  const WorldOptions options;
  const OpenHost open_host;
  const std::shared_ptr<Witnesses> witnesses;
  Channels channels;
  const std::shared_ptr<Watch> watch = std::make_shared<Watch>();
  const std::shared_ptr<comm::AbortFlag> ended = std::make_shared<comm::AbortFlag>();
};

World::World(WorldOptions options, OpenHost open_host)
    : shared_(std::make_shared<Shared>(std::move(options), std::move(open_host))) {}

World::~World() = default;

std::shared_ptr<LateChannel> World::late_channel(const Group& group) const {
  auto channel =
      std::make_unique<LateChannel>(*shared_->options.api, shared_->open_host(named(group, "/nccl")),
                                    shared_->options.timeout, shared_->ended,
                                    [shared = shared_, group](const std::shared_ptr<Communicator>& host,
                                                              std::chrono::milliseconds timeout) {
                                      return shared->connect(group, host, timeout);
                                    });
  shared_->channels.add(*channel);
  // Weak, because the places of `channels` keep what is around a deleted channel, this function too.
  return {channel.release(), [weak = std::weak_ptr(shared_)](LateChannel* last) {
            if (const auto shared = weak.lock()) shared->channels.remove(*last);
            delete last;
          }};
}

std::unique_ptr<Communicator> World::open(const Group& group, const std::string& shared) {
  const WorldOptions& options = shared_->options;
  shared_->ended->throw_if_set("open", group.name, "nccl");
  options.openings->begin(options.rank, group.name);
  try {
    std::shared_ptr<LateChannel> channel;
    if (shared.empty()) {
      channel = late_channel(group);
    } else {
      Group of_all = group;
      of_all.name = shared;
      channel = shared_->channels.shared(shared, [&] { return late_channel(of_all); });
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
  shared_->channels.for_each([&](LateChannel& channel) { channel.set_timeout(timeout); });
}

void World::abort(const std::string& reason) noexcept {
  shared_->ended->set("aborted: " + reason);
  shared_->channels.for_each([&](LateChannel& channel) { channel.abort(reason); });
}

void Openings::begin(int rank, const std::string& group) {
  const std::lock_guard lock(mutex_);
  waiting_.emplace(rank, group);
}

void Openings::end(int rank, const std::string& group) {
  const std::lock_guard lock(mutex_);
  const auto [first, last] = waiting_.equal_range(rank);
  const auto found = std::find_if(first, last, [&](const auto& entry) { return entry.second == group; });
  if (found != last) waiting_.erase(found);
}

std::string Openings::others(int rank) const {
  const std::lock_guard lock(mutex_);
  std::string text;
  for (const auto& [other, group] : waiting_)
    if (other != rank) text += fmt::format("; rank {} waits to open {}", other, group);
  return text;
}

}  // namespace d9d::nccl
