#pragma once
// Runs two pieces of a rank's work on two threads, of which one computes at a time: while
// one waits for other ranks (lane_communicator.hpp), the other computes. Lane 0 is the
// thread that makes this object, lane 1 another thread. For work on the CPU.

#include <condition_variable>
#include <exception>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>

#include "runtime/pipeline/lane/compute_turn.hpp"

namespace d9d {

class ComputeLanes {
 public:
  static constexpr int num_lanes = 2;
  using Piece = std::function<void()>;

  // `begin_thread` runs once on the thread of lane 1, before its first work (thread settings).
  explicit ComputeLanes(Piece begin_thread = {});
  ~ComputeLanes();
  ComputeLanes(const ComputeLanes&) = delete;
  ComputeLanes& operator=(const ComputeLanes&) = delete;

  // Both pieces, the first on lane 0. Returns when both have ended; then throws what the first threw, or else
  // what the second threw. On lane 0's thread, not from within run().
  void run(const Piece& first, const Piece& second);

  // Called on a lane: whether the other one has work, too.
  bool both_run() const { return both_run_; }
  // The lane of the calling thread; nothing on any other thread.
  std::optional<int> current() const;

  // Lives while its thread waits: if both lanes run, the
  // other one computes meanwhile. No effect on other threads.
  class YieldWhileWaiting {
   public:
    explicit YieldWhileWaiting(ComputeLanes& lanes);
    ~YieldWhileWaiting();
    YieldWhileWaiting(const YieldWhileWaiting&) = delete;
    YieldWhileWaiting& operator=(const YieldWhileWaiting&) = delete;

   private:
    ComputeLanes& lanes_;
    const std::optional<int> lane_;
  };

 private:
  void serve();

  const Piece begin_thread_;
  const std::thread::id first_id_;
  ComputeTurn turn_;
  bool both_run_ = false;  // written by lane 0 while lane 1 does not run
  std::mutex mutex_;
  std::condition_variable changed_;
  const Piece* second_ = nullptr;  // what lane 1 is to run, or runs
  std::exception_ptr second_error_;
  bool closing_ = false;
  std::thread thread_;
};

}  // namespace d9d
