#include "actors/notes/signal_wishes.hpp"

#include <csignal>
#include <utility>

namespace d9d {

void SignalWishes::add(int signal) {
  terminate_ = terminate_ || signal == SIGTERM;
  interrupt_ = interrupt_ || signal == SIGINT;
  hang_up_ = hang_up_ || signal == SIGHUP;
  save_ = save_ || signal == SIGUSR1;
  sleep_ = sleep_ || signal == SIGTSTP;
}

void SignalWishes::add_to(StepTotals& totals) {
  totals.terminates += terminate_ ? 1 : 0;
  totals.interrupts += interrupt_ ? 1 : 0;
  totals.hang_ups += hang_up_ ? 1 : 0;
  totals.saves += std::exchange(save_, false) ? 1 : 0;
  totals.sleeps += std::exchange(sleep_, false) ? 1 : 0;
}

AgreedWishes agreed_wishes(const StepTotals& totals) {
  AgreedWishes wishes{.save = totals.saves > 0, .sleep = totals.sleeps > 0};
  if (totals.hang_ups > 0) wishes.stop_signal = SIGHUP;
  if (totals.interrupts > 0) wishes.stop_signal = SIGINT;
  if (totals.terminates > 0) wishes.stop_signal = SIGTERM;
  return wishes;
}

}  // namespace d9d
