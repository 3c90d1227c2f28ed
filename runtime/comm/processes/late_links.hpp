#pragma once
// The links of a group that are made when it is first called: a group that nobody calls has no connections. All members
// call a group in one order (communicator.hpp), so they meet at the same place of their programs. A first call waits
// for all of them, send() too: a message between two is none in a larger group (as in nccl/late_channel). Any thread.

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "runtime/comm/processes/peer_links.hpp"

namespace d9d::comm {

class LateLinks final : public PeerLinks {
 public:
  // Waits for the other members, at most the timeout. Throws where they do not come, and after `cancel`.
  using Open = std::function<std::unique_ptr<PeerLinks>(std::chrono::milliseconds timeout)>;
  // `cancel`: makes an open() that waits, or comes later, throw.
  LateLinks(Open open, std::function<void()> cancel, std::chrono::milliseconds timeout)
      : open_(std::move(open)), cancel_(std::move(cancel)), timeout_(timeout) {}

  // Throw NotMet where the links cannot be made, every time.
  std::unique_ptr<Transfer> send(int peer, const void* data, std::size_t bytes, int tag) override;
  std::unique_ptr<Transfer> receive(int peer, void* data, std::size_t bytes, int tag) override;
  void set_timeout(std::chrono::milliseconds timeout) override { timeout_ = timeout; }
  void abort() noexcept override { cancel_(); }

 private:
  PeerLinks& links();

  const Open open_;
  const std::function<void()> cancel_;
  std::atomic<std::chrono::milliseconds> timeout_;
  std::mutex opening_;                // held while the links are made; guards what follows
  std::unique_ptr<PeerLinks> links_;  // null until then
  std::string failure_;
};

}  // namespace d9d::comm
