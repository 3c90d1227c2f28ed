#include "runtime/launch/signal_policy.hpp"

#include <csignal>

namespace d9d {
namespace {

constexpr std::chrono::nanoseconds hurry = std::chrono::seconds(2);  // closes files, leaves the rest

}  // namespace

bool SignalPolicy::is_wish(int signal) {
  return signal == SIGUSR1 || signal == SIGUSR2 || signal == SIGTSTP || signal == SIGCONT;
}

SignalPolicy::Action SignalPolicy::arrived(int signal, bool running, std::int64_t now_ns) {
  if (is_wish(signal)) return running && stop_signal_ == 0 ? Action::tell : Action::ignore;
  if (stop_signal_ == 0) {
    stop_signal_ = signal;
    last_ns_ = now_ns;
    deadline_ns_ = now_ns + grace_.count();
    return running ? Action::tell : Action::leave;
  }
  if (now_ns - last_ns_ < same_within_.count()) return Action::ignore;
  if (hurries_) return Action::leave;
  hurries_ = true;
  last_ns_ = now_ns;
  deadline_ns_ = now_ns + hurry.count();
  return Action::tell_now;
}

}  // namespace d9d
