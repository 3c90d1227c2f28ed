#include "actors/signal_wishes.hpp"

#include <csignal>
#include <cstring>
#include <utility>

namespace d9d {

void SignalWishes::add(int signal) {
  terminate_ = terminate_ || signal == SIGTERM;
  interrupt_ = interrupt_ || signal == SIGINT;
  save_ = save_ || signal == SIGUSR1;
}

std::array<double, SignalWishes::kValues> SignalWishes::take() {
  const auto as_value = [](bool wish) { return wish ? 1.0 : 0.0; };
  return {as_value(terminate_), as_value(interrupt_), as_value(std::exchange(save_, false))};
}

AgreedWishes SignalWishes::agreed(std::span<const double> sums) {
  AgreedWishes wishes{.save = sums[2] > 0};
  if (sums[1] > 0) wishes.stop_signal = SIGINT;
  if (sums[0] > 0) wishes.stop_signal = SIGTERM;
  return wishes;
}

std::string signal_name(int signal) {
  const char* const name = sigabbrev_np(signal);
  return name == nullptr ? "signal " + std::to_string(signal) : std::string("SIG") + name;
}

}  // namespace d9d
