#pragma once
// Two lanes of a rank that compute in turns: one computes while the other waits for other ranks. The turn
// changes at fixed points of the lanes' own programs (give() and take() around what waits) and alternates
// strictly while both run. So all ranks that run the same two programs enter their collectives in one and the
// same order, whatever the timing, and no two lanes ever touch the rank's state at a time.

#include <array>
#include <condition_variable>
#include <mutex>

namespace d9d {

class ComputeTurn {
 public:
  // Both lanes, 0 and 1, are to run; lane 0 has the turn. Neither may run now.
  void start();
  // Waits until it is this lane's turn.
  void take(int lane);
  // This lane has the turn and goes to wait for something; the other one gets it, unless that is at its end.
  void give(int lane);
  // This lane is at its end; the other one has the turn for good.
  void finish(int lane);

 private:
  void pass_on(int lane);

  std::mutex mutex_;
  std::condition_variable passed_;
  int owner_ = 0;
  std::array<bool, 2> running_{};
};

}  // namespace d9d
