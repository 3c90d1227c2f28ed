#pragma once
// What ranks and actors wish of a job, so that all ranks do the same after the same step: they travel in front of the
// numbers that a step sums over all ranks anyway, and are summed with them. No wish can come too late for a rank then.

#include <set>
#include <vector>

namespace d9d {

struct RankWishes {
  // Ranks that were asked to stop by SIGTERM, SIGINT or SIGHUP, to write a checkpoint, to hand their memory back.
  double terminates = 0;
  double interrupts = 0;
  double hang_ups = 0;
  double saves = 0;
  double sleeps = 0;

  // What actors asked of rank 0, which alone adds it.
  double roll_back = 0;   // the step of a checkpoint to go back to, plus one
  double texts = 0;       // how many requests for texts there are so far
  double ends = 0;        // 1: the job ends after this step
  double lr_changes = 0;  // 1: the factor of the learning rate is another from the next step on
  double lr_factor = 0;   // that one
};

// The wishes of a rank that has got these signals. A wish to save or to sleep goes into the sums of one step only, so
// it is taken out; a wish to stop goes into those of every further step.
RankWishes take_wishes(std::set<int>& signals);
// Which signal stops all ranks, by their summed wishes: of several SIGTERM before SIGINT before SIGHUP; 0 = none.
int stop_signal_of(const RankWishes& summed);

// `sums` with the wishes in front of them.
std::vector<double> with_wishes(const RankWishes& wishes, const std::vector<double>& sums);
// Takes them off again. Bug error for a list that is too short.
RankWishes take_wishes(std::vector<double>& values);

}  // namespace d9d
