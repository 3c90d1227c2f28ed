#include "runtime/comm/processes/socket_transport.hpp"

#include <sys/eventfd.h>
#include <sys/socket.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <set>
#include <utility>

#include "runtime/base/error.hpp"
#include "runtime/comm/processes/exchange.hpp"
#include "runtime/comm/processes/late_links.hpp"
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

// It may outlive the transport.
struct SocketTransport::Shared {
  std::mutex mutex;
  std::condition_variable changed;
  std::set<Cancel*> cancels;  // of openings that wait or may come
};

// Ends one opening. Has no descriptor before that waits. From any thread.
class SocketTransport::Cancel {
 public:
  explicit Cancel(std::shared_ptr<Shared> shared) : shared_(std::move(shared)) {
    const std::lock_guard lock(shared_->mutex);
    shared_->cancels.insert(this);
  }
  ~Cancel() {
    const std::lock_guard lock(shared_->mutex);
    shared_->cancels.erase(this);
  }
  Cancel(const Cancel&) = delete;
  Cancel& operator=(const Cancel&) = delete;

  void set() noexcept {
    const std::lock_guard lock(shared_->mutex);
    set_locked();
  }
  void set_locked() noexcept {
    is_set_ = true;
    if (event_.get() >= 0) eventfd_write(event_.get(), 1);
    shared_->changed.notify_all();
  }
  bool is_set() const { return is_set_; }
  // Readable once it is set.
  int fd() const {
    const std::lock_guard lock(shared_->mutex);
    if (event_.get() < 0) event_ = net::Fd(eventfd(is_set_ ? 1 : 0, EFD_CLOEXEC | EFD_NONBLOCK));
    return event_.get();
  }

 private:
  const std::shared_ptr<Shared> shared_;
  mutable net::Fd event_;
  std::atomic<bool> is_set_ = false;
};

struct SocketTransport::Opening {
  const Group& group;
  std::uint32_t number;
  milliseconds timeout;
  net::Deadline deadline;
  const Cancel& cancel;
  Key key(int dialler, int other) const { return {group.name, number, dialler, other}; }
};

SocketTransport::SocketTransport(net::Gate& gate, SocketTransportOptions options)
    : gate_(gate), options_(std::move(options)), shared_(std::make_shared<Shared>()) {
  gate_.set_taker(net::Purpose::tensors, this);
}

SocketTransport::~SocketTransport() {
  gate_.remove_taker(net::Purpose::tensors, this);
  abort("the process has left the job");
}

std::unique_ptr<Communicator> SocketTransport::open(const Group& group, milliseconds timeout) {
  const Cancel cancel(shared_);
  return std::make_unique<comm::ExchangeCommunicator>(
      connect({group, number_of(group), timeout, steady_clock::now() + timeout, cancel}), group, backend_name,
      timeout);
}

// Members count the openings of a group when they open it, not when they meet.
std::unique_ptr<Communicator> SocketTransport::open_late(const Group& group, milliseconds timeout) {
  const auto cancel = std::make_shared<Cancel>(shared_);
  auto open = [this, group, cancel, number = number_of(group)](milliseconds within) {
    // From then on the transport may be gone.
    if (cancel->is_set()) comm::fail_in_group("open", group.name, backend_name, "aborted");
    return connect({group, number, within, steady_clock::now() + within, *cancel});
  };
  return std::make_unique<comm::ExchangeCommunicator>(
      std::make_unique<comm::LateLinks>(
          std::move(open), [cancel] { cancel->set(); }, timeout),
      group, backend_name, timeout);
}

std::uint32_t SocketTransport::number_of(const Group& group) {
  const std::lock_guard lock(shared_->mutex);
  return opened_[{group.name, group.index}]++;
}

std::unique_ptr<comm::PeerLinks> SocketTransport::connect(const Opening& opening) {
  const Group& group = opening.group;
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
  return std::make_unique<comm::SocketLinks>(std::move(streams));
}

std::unique_ptr<net::Channel> SocketTransport::dial(const Opening& opening, int index) {
  const Group& group = opening.group;
  const int rank = group.ranks[index];
  if (options_.node_of(rank) == options_.node) return own_end(opening.key(group.index, index));
  const net::Deadline deadline = std::min(opening.deadline, steady_clock::now() + reachable_within);
  while (true) {
    throw_if_aborted(opening);
    try {
      return dial_once(opening, index, deadline);
    } catch (const Error& error) {
      throw_if_aborted(opening);
      const auto again = steady_clock::now() + dial_again_after;
      if (again >= deadline) {
        comm::fail_in_group("open", group.name, backend_name,
                            fmt::format("cannot reach rank {}, {}: {}", rank, name_of(rank), error.what()));
      }
      net::wait_for(-1, 0, again, opening.cancel.fd());
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
                    .cancel = opening.cancel.fd()});
}

// Returns null if the member does not come in time; meet() then names all that did not.
std::unique_ptr<net::Channel> SocketTransport::await(const Opening& opening, int index) {
  const Key key = opening.key(index, opening.group.index);
  if (options_.node_of(opening.group.ranks[index]) == options_.node) return own_end(key);
  std::unique_lock lock(shared_->mutex);
  shared_->changed.wait_until(lock, opening.deadline,
                              [&] { return arrived_.contains(key) || aborted_ || opening.cancel.is_set(); });
  const auto found = arrived_.find(key);
  if (found == arrived_.end()) return nullptr;
  auto channel = std::move(found->second);
  arrived_.erase(found);
  return channel;
}

// The first of the two members makes both ends. No TLS, because the bytes do not leave the process.
std::unique_ptr<net::Channel> SocketTransport::own_end(const Key& key) {
  const std::lock_guard lock(shared_->mutex);
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
    if (channel) net::write_fully(*channel, &here, 1, deadline, opening.cancel.fd());
  }
  std::string missing;
  for (int index = 0; index < group.size(); ++index) {
    const auto& channel = channels[index];
    if (index == group.index ||
        (channel && net::read_fully(*channel, &here, 1, deadline, opening.cancel.fd())))
      continue;
    throw_if_aborted(opening);
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
  const std::lock_guard lock(shared_->mutex);
  if (std::exchange(aborted_, true)) return;
  reason_ = reason;
  for (Cancel* const cancel : shared_->cancels) cancel->set_locked();
  shared_->changed.notify_all();
}

void SocketTransport::throw_if_aborted(const Opening& opening) const {
  const std::lock_guard lock(shared_->mutex);
  if (aborted_) comm::fail_in_group("open", opening.group.name, backend_name, "aborted: " + reason_);
  if (opening.cancel.is_set()) comm::fail_in_group("open", opening.group.name, backend_name, "aborted");
}

net::Answer SocketTransport::ask(const net::Hello& hello) {
  if (hello.job == options_.job) return {net::Verdict::yes, {}};
  return {net::Verdict::no, "it belongs to another job, or to another start of this one"};
}

void SocketTransport::take(std::unique_ptr<net::Channel> channel, const net::Hello& hello) {
  const std::lock_guard lock(shared_->mutex);
  arrived_[{hello.group, hello.opened, hello.from, hello.to}] = std::move(channel);
  shared_->changed.notify_all();
}

}  // namespace d9d
