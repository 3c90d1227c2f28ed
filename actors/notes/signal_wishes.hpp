#pragma once
// What signals asked of this rank, and how all ranks come to one answer at one step: every rank adds its wishes
// to the totals that a step sums over all ranks anyway. No message can come too late for a rank then, and it
// costs four doubles. The Trainer's bookkeeping.

#include <string>

#include "runtime/train/step_totals.hpp"

namespace d9d {

// What all ranks do after a step.
struct AgreedWishes {
  int stop_signal = 0;  // where ranks got different ones SIGTERM, then SIGINT, then SIGHUP; 0 = go on
  bool save = false;    // a checkpoint was asked for
  bool sleep = false;   // memory is to be handed back
};

class SignalWishes {
 public:
  void add(int signal);
  // A wish to save or to sleep is added to the totals of one step, a wish to stop to those of every step.
  void add_to(StepTotals& totals);

 private:
  bool terminate_ = false;
  bool interrupt_ = false;
  bool hang_up_ = false;
  bool save_ = false;
  bool sleep_ = false;
};

// `totals`: of all ranks.
AgreedWishes agreed_wishes(const StepTotals& totals);

}  // namespace d9d
