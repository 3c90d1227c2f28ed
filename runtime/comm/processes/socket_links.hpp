#pragma once
// The links of one member of a group to the others, over sockets. They have no thread of their own:
// one of the waiting threads reads and writes for all of them, so a message reaches its thread without
// passing through another thread.

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
  // `streams`: by index in the group, null at this rank's index.
  explicit SocketLinks(std::vector<std::unique_ptr<LinkStream>> streams);

  std::unique_ptr<Transfer> send(int peer, const void* data, std::size_t bytes, int tag) override;
  std::unique_ptr<Transfer> receive(int peer, void* data, std::size_t bytes, int tag) override;
  void set_timeout(std::chrono::milliseconds) override {}  // wait() is given the timeout

 private:
  class SocketTransfer;

  void begin(SocketTransfer& transfer, bool sends);
  void wait_for(SocketTransfer& transfer, std::chrono::milliseconds timeout);
  // Polls once, then reads and writes on the connections that are ready. Releases the lock during the poll.
  void drive(std::unique_lock<std::mutex>& lock, std::chrono::steady_clock::time_point deadline);
  void abort(SocketTransfer& transfer) noexcept;
  void forget(SocketTransfer& transfer) noexcept;
  void kick() const noexcept;

  const std::vector<std::unique_ptr<LinkStream>> streams_;
  const net::Fd wake_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool driven_ = false;  // a thread drives the links
  int followers_ = 0;    // threads that wait while another one drives
};

}  // namespace d9d::comm
