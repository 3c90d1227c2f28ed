#pragma once
// What signals have asked of this rank, and what all ranks make of the sum of their wishes. The Trainer's bookkeeping.

#include "actors/notes/rank_wishes.hpp"

namespace d9d {

// What all ranks do after a step.
struct AgreedWishes {
  int stop_signal = 0;  // of several, SIGTERM goes before SIGINT, before SIGHUP; 0 = go on
  bool save = false;    // a checkpoint was asked for
  bool sleep = false;   // free memory, and wait for SIGCONT
};

class SignalWishes {
 public:
  void add(int signal);
  // Adds a wish to save or to sleep to the wishes of one step only, and a wish to stop to those of every further step.
  void add_to(RankWishes& wishes);

 private:
  bool terminate_ = false;
  bool interrupt_ = false;
  bool hang_up_ = false;
  bool save_ = false;
  bool sleep_ = false;
};

// `wishes`: summed over all ranks.
AgreedWishes agreed_wishes(const RankWishes& wishes);

}  // namespace d9d
