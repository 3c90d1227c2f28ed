#pragma once
// What signals asked of this rank, and how all ranks come to one answer at one step: every rank adds its wishes to
// the values that a step sums over all ranks anyway. No message can come too late for a rank then, and it costs
// three doubles. The Trainer's bookkeeping.

#include <array>
#include <span>
#include <string>

namespace d9d {

// What all ranks do after a step.
struct AgreedWishes {
  int stop_signal = 0;  // SIGTERM before SIGINT where ranks got different ones; 0 = go on
  bool save = false;    // a checkpoint was asked for
};

class SignalWishes {
 public:
  static constexpr int kValues = 3;

  void add(int signal);
  // This rank's part of the sum. A wish to save is handed out once, a wish to stop with every step.
  std::array<double, kValues> take();
  static AgreedWishes agreed(std::span<const double> sums);

 private:
  bool terminate_ = false;
  bool interrupt_ = false;
  bool save_ = false;
};

std::string signal_name(int signal);        // "SIGTERM"
inline constexpr int exit_of_signal = 128;  // exit codes of signals begin here

}  // namespace d9d
