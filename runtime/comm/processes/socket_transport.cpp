#include "runtime/comm/processes/socket_transport.hpp"

#include <sys/eventfd.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>

#include "runtime/base/error.hpp"
#include "runtime/comm/processes/exchange.hpp"
#include "runtime/comm/processes/link_stream.hpp"
#include "runtime/comm/processes/socket_links.hpp"
#include "runtime/net/dial.hpp"

namespace d9d {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;
using Channels = std::vector<std::unique_ptr<net::Channel>>;

// How long to dial in vain. A node listens before it joins the job, so one that does not answer
// is out of reach.
constexpr std::chrono::seconds reachable_within{15};
constexpr milliseconds dial_again_after{200};

constexpr const char* backend_name = "sockets";

}  // namespace

struct SocketTransport::Opening {
  const Group& group;
  std::uint32_t number;
  milliseconds timeout;
  net::Deadline deadline;
  Key key(int dialler, int other) const { return {group.name, number, dialler, other}; }
};

SocketTransport::SocketTransport(net::Gate& gate, SocketTransportOptions options)
    : gate_(gate), options_(std::move(options)), cancel_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  gate_.set_taker(net::Purpose::tensors, this);
}

SocketTransport::~SocketTransport() {
  gate_.remove_taker(net::Purpose::tensors, this);
}

std::unique_ptr<Communicator> SocketTransport::open(const Group& group, milliseconds timeout) {
  std::unique_lock lock(mutex_);
  const Opening opening{group, opened_[{group.name, group.index}]++, timeout, steady_clock::now() + timeout};
  lock.unlock();
  Channels channels(static_cast<std::size_t>(group.size()));
  for (int index = 0; index < group.index; ++index) channels[index] = dial(opening, index);
  for (int index = group.index + 1; index < group.size(); ++index) channels[index] = await(opening, index);
  meet(opening, channels);
  std::vector<std::unique_ptr<comm::LinkStream>> streams;
  for (int index = 0; index < group.size(); ++index) {
    auto& channel = channels[index];
    streams.push_back(
        channel ? std::make_unique<comm::LinkStream>(std::move(channel), name_of(group.ranks[index]))
                : nullptr);
  }
  return std::make_unique<comm::ExchangeCommunicator>(std::make_unique<comm::SocketLinks>(std::move(streams)),
                                                      group, backend_name, timeout);
}

std::unique_ptr<net::Channel> SocketTransport::dial(const Opening& opening, int index) {
  const Group& group = opening.group;
  const int rank = group.ranks[index];
  if (options_.node_of(rank) == options_.node) return own_end(opening.key(group.index, index));
  const net::Deadline deadline = std::min(opening.deadline, steady_clock::now() + reachable_within);
  while (true) {
    throw_if_aborted(group);
    try {
      return dial_once(opening, index, deadline);
    } catch (const Error& error) {
      throw_if_aborted(group);
      const auto again = steady_clock::now() + dial_again_after;
      if (again >= deadline) {
        comm::fail_in_group("open", group.name, backend_name,
                            fmt::format("cannot reach rank {}, {}: {}", rank, name_of(rank), error.what()));
      }
      net::wait_for(-1, 0, again, cancel_.get());
    }
  }
}

std::unique_ptr<net::Channel> SocketTransport::dial_once(const Opening& opening, int index,
                                                         net::Deadline deadline) {
  const HostPort& node = options_.nodes.at(options_.node_of(opening.group.ranks[index]));
  return net::dial({.host = node.host,
                    .port = node.port,
                    .tls = gate_.tls(),
                    .secrets = &gate_.secrets(),
                    .hello = {.purpose = net::Purpose::tensors,
                              .job = options_.job,
                              .group = opening.group.name,
                              .opened = opening.number,
                              .from = opening.group.index,
                              .to = index},
                    .deadline = deadline,
                    .cancel = cancel_.get()});
}

// Returns null if the member does not come in time; meet() then names all that did not.
std::unique_ptr<net::Channel> SocketTransport::await(const Opening& opening, int index) {
  const Key key = opening.key(index, opening.group.index);
  if (options_.node_of(opening.group.ranks[index]) == options_.node) return own_end(key);
  std::unique_lock lock(mutex_);
  changed_.wait_until(lock, opening.deadline, [&] { return arrived_.contains(key) || aborted_; });
  const auto found = arrived_.find(key);
  if (found == arrived_.end()) return nullptr;
  auto channel = std::move(found->second);
  arrived_.erase(found);
  return channel;
}

// The first of the two members makes both ends. No TLS, because the bytes do not leave the process.
std::unique_ptr<net::Channel> SocketTransport::own_end(const Key& key) {
  const std::lock_guard lock(mutex_);
  net::Fd mine;
  if (const auto found = own_ends_.find(key); found != own_ends_.end()) {
    mine = std::move(found->second);
    own_ends_.erase(found);
  } else {
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) != 0) {
      throw Error(
          ErrorKind::environment,
          fmt::format("no descriptors for a group's links: {}; raise ulimit -n", std::strerror(errno)));
    }
    mine = net::Fd(ends[0]);
    own_ends_.emplace(key, net::Fd(ends[1]));
  }
  return net::make_channel(std::move(mine), nullptr, net::Side::dials);
}

// Every member sends a byte to every other one. A connection alone proves only that
// the other's process runs.
void SocketTransport::meet(const Opening& opening, Channels& channels) {
  const Group& group = opening.group;
  const auto deadline = opening.deadline;
  std::byte here{1};
  for (const auto& channel : channels) {
    if (channel) net::write_fully(*channel, &here, 1, deadline, cancel_.get());
  }
  std::string missing;
  for (int index = 0; index < group.size(); ++index) {
    const auto& channel = channels[index];
    if (index == group.index || (channel && net::read_fully(*channel, &here, 1, deadline, cancel_.get())))
      continue;
    throw_if_aborted(group);
    if (channel && !channel->failure().empty()) {
      comm::fail_in_group("open", group.name, backend_name,
                          fmt::format("rank {}: {}: {}", group.ranks[index], name_of(group.ranks[index]),
                                      channel->failure()));
    }
    missing += fmt::format(" {}", group.ranks[index]);
  }
  if (missing.empty()) return;
  comm::fail_in_group("open", group.name, backend_name,
                      fmt::format("ranks{} did not come within {} ms", missing, opening.timeout.count()));
}

std::string SocketTransport::name_of(int rank) const {
  const int node = options_.node_of(rank);
  if (node == options_.node) return "this process";
  const HostPort& address = options_.nodes.at(node);
  return fmt::format("node {} at {}", node, host_port_text(address.host, address.port));
}

void SocketTransport::abort(const std::string& reason) noexcept {
  const std::lock_guard lock(mutex_);
  if (std::exchange(aborted_, true)) return;
  reason_ = reason;
  eventfd_write(cancel_.get(), 1);
  changed_.notify_all();
}

void SocketTransport::throw_if_aborted(const Group& group) const {
  const std::lock_guard lock(mutex_);
  if (aborted_) comm::fail_in_group("open", group.name, backend_name, "aborted: " + reason_);
}

net::Answer SocketTransport::ask(const net::Hello& hello) {
  if (hello.job == options_.job) return {net::Verdict::yes, {}};
  return {net::Verdict::no, "it belongs to another job, or to another start of this one"};
}

void SocketTransport::take(std::unique_ptr<net::Channel> channel, const net::Hello& hello) {
  const std::lock_guard lock(mutex_);
  arrived_[{hello.group, hello.opened, hello.from, hello.to}] = std::move(channel);
  changed_.notify_all();
}

}  // namespace d9d
