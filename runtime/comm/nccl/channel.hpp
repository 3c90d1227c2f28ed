#pragma once
// One NCCL communicator with its stream. A launch keeps its tensors until the GPU is done with them. A failure is the same
// for all callers, whether a call found it or the thread of the Watch.

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
#include <vector>

#include "runtime/comm/abort_flag.hpp"
#include "runtime/comm/nccl/channel_options.hpp"
#include "runtime/device/work_log.hpp"

namespace d9d::nccl {

class Channel {
 public:
  using Open = std::function<int(Comm*)>;
  using Call = std::function<int(Comm, Stream)>;
  // For texts and for the comparison of ranks: `with` is " to rank 5", " from rank 5", or empty.
  struct What {
    const char* operation;
    std::string shape;  // equal on all members: "(float, 1000 elements)"
    std::string with;
  };

  // Waits until `open` has made the communicator. Environment error at the deadline.
  Channel(ChannelOptions options, const Open& open);
  ~Channel();
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;

  // Enqueues call() behind what the caller's stream has to do. `tensors` live until the GPU is done.
  void launch(const What& what, std::vector<at::Tensor> tensors, const Call& call);
  // The caller's stream waits for all launches.
  void wait();
  // Waits itself, until the GPU is done with all launches.
  void finish(const char* operation);
  // The same, and gives the communicator back: nothing may be launched afterwards. Does nothing after a failure.
  void close() noexcept;
  // From any thread; returns at once. The Watch ends the communicator.
  void abort(const std::string& reason) noexcept;
  void set_timeout(std::chrono::milliseconds timeout) { timeout_ = timeout; }

  // By the Watch, every few milliseconds: errors that NCCL found meanwhile, deadlines, what is done.
  void look();

  const Group& group() const { return options_.group; }
  const Api& api() const { return options_.api; }
  // Environment error where it has failed.
  void check() const;

 private:
  using Time = std::chrono::steady_clock::time_point;
  struct Launch {
    What what;
    std::vector<at::Tensor> tensors;
    Event ready = nullptr;  // the stream has come to it
    Event done = nullptr;
    Time since{};  // when it was first seen that it could begin
  };

  int settled(int result, const What& what);
  void require(int result, const What& what);
  void require_cuda(int result, const What& what);
  Event take_event(const What& what);
  void drop_done(std::deque<Launch>& gone);
  std::optional<std::string> overdue();
  std::string members() const;
  std::string launch_text(const What& what) const;
  LoggedWork logged_from_here(const What& what, const std::vector<at::Tensor>& tensors) const;
  WorkTimer stall_from_here() const;
  void add_to_log(LoggedWork work) const;
  void fail(const What& what, const std::string& reason, std::chrono::milliseconds patience);
  void end_communicator() noexcept;
  void enter_device() const noexcept;

  const ChannelOptions options_;
  std::atomic<std::chrono::milliseconds> timeout_;
  comm::AbortFlag failed_;
  std::mutex mutex_;  // of all that follows, and of calls with comm_
  std::condition_variable changed_;
  std::atomic<bool> ended_ = false;  // comm_ is gone
  Comm comm_ = nullptr;
  Stream stream_ = nullptr;
  std::deque<Launch> launches_;
  std::vector<Event> events_;  // free ones
  std::uint64_t launched_ = 0;
};

}  // namespace d9d::nccl
