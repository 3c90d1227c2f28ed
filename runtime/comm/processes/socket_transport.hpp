#pragma once
// Opens groups between processes over TCP, plain or under TLS as the gate is configured. A process has one,
// shared by its ranks; several ranks of a process may be members of one group. No torch in this header.

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "runtime/base/host/host_port.hpp"
#include "runtime/mesh/plan.hpp"
#include "runtime/net/gate.hpp"

namespace d9d {

class Communicator;
namespace comm {
class PeerLinks;
}

struct SocketTransportOptions {
  int node = 0;                 // this process
  std::vector<HostPort> nodes;  // addresses of the gates of all nodes, as this one reaches them
  std::function<int(int rank)> node_of;
  std::string job;  // random for each start of the job; connections with another one are refused
};

class SocketTransport final : public net::Taker {
 public:
  // `gate` must listen at nodes[node] and outlive the transport.
  SocketTransport(net::Gate& gate, SocketTransportOptions options);
  ~SocketTransport() override;

  // Waits until all members have opened the group. The environment error after the timeout names the
  // members that did not. Of two members the one with the higher index dials, so only node 0 of two
  // has to be reachable.
  std::unique_ptr<Communicator> open(const Group& group, std::chrono::milliseconds timeout);
  // The same without a wait: the members meet when they first call the group (late_links.hpp), within the timeout that
  // it then has. The transport must outlive the communicator's calls.
  std::unique_ptr<Communicator> open_late(const Group& group, std::chrono::milliseconds timeout);
  // Fails every open() and every first call that waits or comes later. From any thread.
  void abort(const std::string& reason) noexcept;

  net::Answer ask(const net::Hello& hello) override;
  void take(std::unique_ptr<net::Channel> channel, const net::Hello& hello) override;

 private:
  // Group, number of earlier openings, index of the member that dials, index of the other one.
  using Key = std::tuple<std::string, std::uint32_t, int, int>;
  struct Opening;
  class Cancel;
  struct Shared;

  std::unique_ptr<net::Channel> dial(const Opening& opening, int index);
  std::unique_ptr<net::Channel> dial_once(const Opening& opening, int index, net::Deadline deadline);
  std::unique_ptr<net::Channel> await(const Opening& opening, int index);
  std::unique_ptr<net::Channel> own_end(const Key& key);
  void meet(const Opening& opening, std::vector<std::unique_ptr<net::Channel>>& channels);
  std::string name_of(int rank) const;
  void throw_if_aborted(const Opening& opening) const;
  std::uint32_t number_of(const Group& group);
  std::unique_ptr<comm::PeerLinks> connect(const Opening& opening);

  net::Gate& gate_;
  const SocketTransportOptions options_;
  const std::shared_ptr<Shared> shared_;  // its mutex guards what follows
  bool aborted_ = false;
  std::string reason_;
  std::map<std::pair<std::string, int>, std::uint32_t> opened_;  // by group and index
  std::map<Key, std::unique_ptr<net::Channel>> arrived_;
  std::map<Key, net::Fd> own_ends_;  // between two members of this process
};

}  // namespace d9d
