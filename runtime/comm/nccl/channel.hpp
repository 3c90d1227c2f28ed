#pragma once
// One NCCL communicator with its stream, of one group or of several with the same ranks (group_use.hpp). A launch keeps
// its tensors until the GPU is done with them.
// After a failure all calls throw the same error, whether a call or the thread of the Watch found it.

#include <ATen/core/Tensor.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "runtime/comm/abort_flag.hpp"
#include "runtime/comm/nccl/api.hpp"
#include "runtime/comm/nccl/witnesses.hpp"
#include "runtime/device/work_log.hpp"
#include "runtime/mesh/plan.hpp"

namespace d9d::nccl {

struct ChannelOptions {
  const Api& api;
  int device = 0;
  Group group;
  std::chrono::milliseconds timeout;
  std::shared_ptr<Witnesses> witnesses;         // of this rank
  std::shared_ptr<comm::AbortFlag> ended = {};  // of this rank; once set, open() waits no longer
};

class Channel {
 public:
  using Open = std::function<int(Comm*)>;
  using Call = std::function<int(Comm, Stream)>;
  // A launch in error texts and in the comparison of ranks. `with`: " to rank 5", " from rank 5" or empty.
  struct What {
    const char* operation;
    std::string shape;  // equal on all members: "(float, 1000 elements)"
    std::string with;
    std::string group = {};  // that calls; "": the channel's
  };

  // Waits until `open` has made the communicator. Environment error after the timeout.
  Channel(ChannelOptions options, const Open& open);
  ~Channel();
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;

  // Queues call() behind all work of the caller's stream. Keeps `tensors` until the GPU is done with them.
  void launch(const What& what, std::vector<at::Tensor> tensors, const Call& call);
  // Makes the caller's stream wait for all launches. The host does not wait. `caller`: the group, for errors.
  void wait(const std::string& caller);
  // Makes the host wait until the GPU is done with all launches.
  void finish(const char* operation);
  // Does the same and frees the communicator. Do not launch afterwards. Does nothing after a failure.
  void close() noexcept;
  // Fails the channel and returns at once; the Watch then ends the communicator. From any thread.
  void abort(const std::string& reason) noexcept;
  void set_timeout(std::chrono::milliseconds timeout) { timeout_ = timeout; }

  // Looks for errors and missed deadlines and frees complete launches. The Watch calls it every few ms.
  void look();

  const Group& group() const { return options_.group; }
  const Api& api() const { return options_.api; }
  // Throws the environment error of a failed channel.
  void check(const std::string& caller) const;

 private:
  using Time = std::chrono::steady_clock::time_point;
  struct Launch {
    What what;
    std::vector<at::Tensor> tensors;
    Event ready = nullptr;  // the stream has reached the launch
    Event done = nullptr;
    Time since{};  // when look() first saw `ready`
  };

  int settled(int result, const What& what);
  void require(int result, const What& what);
  void require_cuda(int result, const What& what);
  Event take_event(const What& what);
  void drop_done(std::deque<Launch>& gone);
  std::optional<std::string> overdue();
  const std::string& caller_of(const What& what) const {
    return what.group.empty() ? group().name : what.group;
  }
  std::string members() const;
  std::string launch_text(const What& what) const;
  LoggedWork logged_from_here(const What& what, const std::vector<at::Tensor>& tensors) const;
  WorkTimer stall_from_here(const std::string& caller) const;
  void add_to_log(LoggedWork work) const;
  void fail(const What& what, const std::string& reason, std::chrono::milliseconds patience);
  void end_communicator() noexcept;
  void enter_device() const noexcept;

  const ChannelOptions options_;
  std::atomic<std::chrono::milliseconds> timeout_;
  comm::AbortFlag failed_;
  std::mutex mutex_;  // guards all members below, and calls with comm_
  std::condition_variable changed_;
  std::atomic<bool> ended_ = false;  // comm_ is gone
  Comm comm_ = nullptr;
  std::jthread ending_;  // aborts comm_; joined by whoever destroys the channel
  Stream stream_ = nullptr;
  std::deque<Launch> launches_;
  std::vector<Event> events_;  // free ones
  std::uint64_t launched_ = 0;
};

}  // namespace d9d::nccl
