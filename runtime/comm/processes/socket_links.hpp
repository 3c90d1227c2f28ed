#pragma once
// The links of one group's member to the others, over sockets. No thread of their own: whoever waits reads and
// writes for all who wait, so a message passes no other thread on its way to the waiting one.

#include <condition_variable>
#include <memory>
#include <mutex>
#include <vector>

#include "runtime/comm/processes/link_stream.hpp"
#include "runtime/comm/processes/peer_links.hpp"
#include "runtime/net/fd.hpp"

namespace d9d::comm {

class SocketLinks final : public PeerLinks {
 public:
  // By index in the group; none at the own place.
  explicit SocketLinks(std::vector<std::unique_ptr<LinkStream>> streams);

  std::unique_ptr<Transfer> send(int peer, const void* data, std::size_t bytes, int tag) override;
  std::unique_ptr<Transfer> receive(int peer, void* data, std::size_t bytes, int tag) override;
  void set_timeout(std::chrono::milliseconds) override {}  // every wait brings its own

 private:
  class SocketTransfer;

  void begin(SocketTransfer& transfer, bool sends);
  void wait_for(SocketTransfer& transfer, std::chrono::milliseconds timeout);
  // One poll and what it allows. The lock is open meanwhile.
  void drive(std::unique_lock<std::mutex>& lock, std::chrono::steady_clock::time_point deadline);
  void abort(SocketTransfer& transfer) noexcept;
  void forget(SocketTransfer& transfer) noexcept;
  void kick() const noexcept;

  const std::vector<std::unique_ptr<LinkStream>> streams_;
  const net::Fd wake_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool driven_ = false;  // somebody is in poll()
  int followers_ = 0;    // wait for what the driver does
};

}  // namespace d9d::comm
