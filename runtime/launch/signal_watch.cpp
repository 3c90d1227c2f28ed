#include "runtime/launch/signal_watch.hpp"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "runtime/base/error.hpp"
#include "runtime/base/log.hpp"

namespace d9d {

sigset_t signals_of_jobs() {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : {SIGTERM, SIGINT, SIGUSR1, SIGUSR2, SIGTSTP, SIGCONT}) sigaddset(&set, signal);
  struct sigaction hang_up {};
  ::sigaction(SIGHUP, nullptr, &hang_up);
  if (hang_up.sa_handler != SIG_IGN) sigaddset(&set, SIGHUP);
  return set;
}

SignalWatch::SignalWatch(const Clock& clock, SignalWatchOptions options)
    : clock_(clock), options_(std::move(options)), policy_(options_.grace) {
  const sigset_t set = signals_of_jobs();
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  signals_ = signalfd(-1, &set, SFD_CLOEXEC);
  end_ = eventfd(0, EFD_CLOEXEC);
  if (signals_ < 0 || end_ < 0) {
    throw Error(ErrorKind::environment,
                fmt::format("cannot wait for signals: {}; is `ulimit -n` too small?", std::strerror(errno)));
  }
  thread_ = std::thread([this] { run(); });
}

SignalWatch::~SignalWatch() {
  const std::uint64_t one = 1;
  if (::write(end_, &one, sizeof one) == sizeof one) thread_.join();
  ::close(signals_);
  ::close(end_);
  const sigset_t set = signals_of_jobs();
  pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
}

SignalWatch::Listener::Listener(SignalWatch& watch, Tell tell, Unfinished unfinished) : watch_(watch) {
  const std::lock_guard lock(watch_.mutex_);
  watch_.tell_ = std::move(tell);
  watch_.unfinished_ = std::move(unfinished);
}

SignalWatch::Listener::~Listener() {
  const std::lock_guard lock(watch_.mutex_);
  watch_.tell_ = nullptr;
  watch_.unfinished_ = nullptr;
}

bool SignalWatch::hurries() const {
  const std::lock_guard lock(mutex_);
  return policy_.hurries();
}

void SignalWatch::run() {
  std::array<pollfd, 2> sources{
      {{.fd = signals_, .events = POLLIN, .revents = 0}, {.fd = end_, .events = POLLIN, .revents = 0}}};
  while (true) {
    const int ready = ::poll(sources.data(), sources.size(), wait_ms());
    if (ready < 0 && errno != EINTR) return;
    if (ready > 0 && sources[1].revents != 0) return;
    if (ready > 0 && sources[0].revents != 0) take();
    if (wait_ms() == 0) {
      const std::lock_guard lock(mutex_);
      const std::string left = unfinished_ ? unfinished_() : std::string();
      leave(fmt::format("{} was not obeyed in time ({}); leaving anyway. Not finished: {}",
                        signal_name(policy_.stop_signal()),
                        policy_.hurries() ? "a second one came" : "node.stop_grace",
                        left.empty() ? "the end of the process" : left));
    }
  }
}

int SignalWatch::wait_ms() {
  const std::lock_guard lock(mutex_);
  const auto deadline = policy_.deadline_ns();
  if (!deadline) return -1;
  constexpr std::int64_t nanoseconds = 1'000'000;
  const std::int64_t left = *deadline - clock_.now_ns();
  return left <= 0 ? 0 : static_cast<int>(left / nanoseconds) + 1;
}

void SignalWatch::take() {
  signalfd_siginfo info{};
  if (::read(signals_, &info, sizeof info) != sizeof info) return;
  const int signal = static_cast<int>(info.ssi_signo);
  const std::lock_guard lock(mutex_);
  switch (policy_.arrived(signal, tell_ != nullptr, clock_.now_ns())) {
    case SignalPolicy::Action::ignore:
      if (signal == SIGUSR1) log::warn("SIGUSR1: there is nothing to save now");
      if (signal == SIGTSTP) log::warn("SIGTSTP: there is no memory to hand back now");
      if (signal == SIGUSR2) log::warn("SIGUSR2: there is no trace to write now");
      return;
    case SignalPolicy::Action::tell:
      return tell_(signal, false);
    case SignalPolicy::Action::tell_now:
      log::warn("{} again: leaving without finishing the step", signal_name(signal));
      if (tell_) tell_(signal, true);
      return;
    case SignalPolicy::Action::leave:
      return leave(fmt::format("{}: leaving at once", signal_name(signal)));
  }
}

void SignalWatch::leave(const std::string& why) {
  options_.leave(policy_.exit_code(), why);
}

}  // namespace d9d
