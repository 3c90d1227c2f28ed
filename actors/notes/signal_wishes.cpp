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

void SignalWishes::add_to(RankWishes& wishes) {
  wishes.terminates += terminate_ ? 1 : 0;
  wishes.interrupts += interrupt_ ? 1 : 0;
  wishes.hang_ups += hang_up_ ? 1 : 0;
  wishes.saves += std::exchange(save_, false) ? 1 : 0;
  wishes.sleeps += std::exchange(sleep_, false) ? 1 : 0;
}

AgreedWishes agreed_wishes(const RankWishes& wishes) {
  AgreedWishes agreed{.save = wishes.saves > 0, .sleep = wishes.sleeps > 0};
  if (wishes.hang_ups > 0) agreed.stop_signal = SIGHUP;
  if (wishes.interrupts > 0) agreed.stop_signal = SIGINT;
  if (wishes.terminates > 0) agreed.stop_signal = SIGTERM;
  return agreed;
}

}  // namespace d9d
