#pragma once
// A Channel that connect() or its first launch connects: a group that nobody calls has no NCCL communicator.
// All members call the group in one order (communicator.hpp), so they come to its first launch at the same place
// of their programs, and that launch may wait for them. A message between two members is no first launch in a larger
// group: the others have to come, too (as with torch's groups, pytorch#74701).

#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "runtime/comm/abort_flag.hpp"
#include "runtime/comm/nccl/channel.hpp"

namespace d9d {
class Communicator;
}

namespace d9d::nccl {

// Thread-safe.
class LateChannel {
 public:
  // Connects the channel with the other members, over `host`. Environment error if one does not come within `timeout`.
  using Connect = std::function<std::shared_ptr<Channel>(const std::shared_ptr<Communicator>& host,
                                                         std::chrono::milliseconds timeout)>;
  // `host`: of the same ranks; the channel's alone. `ended`: of the rank; once set, calls fail.
  LateChannel(const Api& api, std::shared_ptr<Communicator> host, std::chrono::milliseconds timeout,
              std::shared_ptr<comm::AbortFlag> ended, Connect connect);
  LateChannel(const LateChannel&) = delete;
  LateChannel& operator=(const LateChannel&) = delete;

  const Api& api() const { return api_; }
  // Connects now, where it is known that the group will be called: before ranks have work on their GPUs that others
  // wait for. All members have to come, to this or to a launch.
  void connect(const std::string& caller) { connected({"connect", "", "", caller}); }
  // As those of Channel. A launch that has to connect waits for the other members, at most the timeout of a call; if
  // they do not come, every later call fails in the same way. wait() before a launch has nothing to wait for.
  void launch(const Channel::What& what, std::vector<at::Tensor> tensors, const Channel::Call& call);
  void wait(const std::string& caller);
  void check(const std::string& caller) const;
  // Wakes a launch that waits for the other members, too.
  void abort(const std::string& reason) noexcept;
  void set_timeout(std::chrono::milliseconds timeout);

 private:
  std::shared_ptr<Channel> now() const;
  std::shared_ptr<Channel> connected(const Channel::What& what);
  void throw_if_failed(const char* operation, const std::string& caller) const;

  const Api& api_;
  const std::shared_ptr<comm::AbortFlag> ended_;
  const Connect connect_;
  comm::AbortFlag failed_;
  std::mutex connecting_;               // held by the launch that connects
  mutable std::mutex mutex_;            // guards what follows
  std::shared_ptr<Communicator> host_;  // null when connected
  std::chrono::milliseconds timeout_;
  std::shared_ptr<Channel> channel_;  // null until then
};

}  // namespace d9d::nccl
