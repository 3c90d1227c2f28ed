#pragma once
// Runs two pieces of a rank's work on two threads. Only one computes at a time: while one waits for other
// ranks (lane_communicator.hpp), the other computes. Lane 0 is the thread that constructs this object; lane
// 1 is a thread of its own. On a device they give work in turns (stage_streams.hpp).

#include <array>
#include <condition_variable>
#include <exception>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>

namespace d9d {

// Lets two lanes of a rank compute in turns: one computes while the other waits for other ranks. The turn
// changes at fixed points of the lanes' programs (give() before a wait, take() after it) and alternates
// strictly while both run. So all ranks that run the same two programs enter their collectives in the same
// order, whatever the timing, and the two lanes never use the rank's state at the same time.
class ComputeTurn {
 public:
  // Starts both lanes, 0 and 1, with the turn on lane 0. Neither may be running.
  void start();
  // Waits until it is this lane's turn.
  void take(int lane);
  // Passes the turn to the other lane, unless that has finished. Call it on the lane
  // that has the turn, before it waits.
  void give(int lane);
  // Ends this lane. The other one keeps the turn.
  void finish(int lane);

 private:
  void pass_on(int lane);

  std::mutex mutex_;
  std::condition_variable passed_;
  int owner_ = 0;
  std::array<bool, 2> running_{};
};

class ComputeLanes {
 public:
  static constexpr int num_lanes = 2;
  using Piece = std::function<void()>;

  // `begin_thread` runs once on the thread of lane 1, before its first work (thread settings).
  explicit ComputeLanes(Piece begin_thread = {});
  ~ComputeLanes();
  ComputeLanes(const ComputeLanes&) = delete;
  ComputeLanes& operator=(const ComputeLanes&) = delete;

  // Runs both pieces, the first on lane 0. Returns when both have ended. Then rethrows the exception of the
  // first piece, or else of the second. Call it on lane 0's thread, and not from within run().
  void run(const Piece& first, const Piece& second);

  // Whether both lanes have work. Call it on a lane.
  bool both_run() const { return both_run_; }
  // The lane of the calling thread; nothing on any other thread.
  std::optional<int> current() const;

  // Keep an object of this class while a lane waits: if both lanes run, the other one computes meanwhile. It
  // has no effect on other threads.
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
  bool both_run_ = false;  // lane 0 writes it, only while lane 1 does not run
  std::mutex mutex_;
  std::condition_variable changed_;
  const Piece* second_ = nullptr;  // the piece that lane 1 runs, or will run next
  std::exception_ptr second_error_;
  bool closing_ = false;
  std::thread thread_;
};

}  // namespace d9d
