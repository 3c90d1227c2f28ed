#pragma once
// What signals asked of this rank, and what all ranks make of the sums of their wishes. The Trainer's bookkeeping.

#include <string>

#include "actors/notes/rank_wishes.hpp"

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
  // A wish to save or to sleep is added to the wishes of one step, a wish to stop to those of every step.
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
