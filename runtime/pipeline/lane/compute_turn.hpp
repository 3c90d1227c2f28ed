#pragma once
// Lets two lanes of a rank compute in turns: one computes while the other waits for other ranks. The turn
// changes at fixed points of the lanes' programs (give() before a wait, take() after it) and alternates
// strictly while both run. So all ranks that run the same two programs enter their collectives in the same
// order, whatever the timing, and the two lanes never use the rank's state at the same time.

#include <array>
#include <condition_variable>
#include <mutex>

namespace d9d {

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

}  // namespace d9d
