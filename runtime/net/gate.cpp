#include "runtime/net/gate.hpp"

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "runtime/base/error.hpp"
#include "runtime/base/log.hpp"

namespace d9d::net {
namespace {

constexpr std::chrono::milliseconds accept_pause{100};
// At most this many are accepted at a time, so that known newcomers are served during a flood of new ones.
constexpr int accepted_at_once = 64;

constexpr std::chrono::seconds complaint_window{10};
constexpr int complaints_max = 5;

}  // namespace

Gate::Gate(std::shared_ptr<const Tls> tls, GateOptions options)
    : tls_(std::move(tls)),
      options_(std::move(options)),
      secrets_(options_.secret, options_.awaits_membership),
      epoll_(epoll_create1(EPOLL_CLOEXEC)),
      stop_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  if (epoll_ && stop_) return;
  throw Error(ErrorKind::environment,
              fmt::format("no descriptors for the network: {}; raise ulimit -n", std::strerror(errno)));
}

Gate::~Gate() {
  eventfd_write(stop_.get(), 1);
  if (thread_.joinable()) thread_.join();
}

std::uint16_t Gate::listen(const std::string& host, std::uint16_t port) {
  D9D_CHECK(!listener_, "the gate listens already, on port {}", port_);
  listener_ = listen_on(host, port);
  port_ = port_of(listener_.get());
  watch(listener_.get(), EPOLLIN, EPOLL_CTL_ADD);
  watch(stop_.get(), EPOLLIN, EPOLL_CTL_ADD);
  thread_ = std::thread([this] { run(); });
  return port_;
}

void Gate::set_taker(Purpose purpose, Taker* taker) {
  const std::lock_guard lock(takers_mutex_);
  takers_[static_cast<std::size_t>(purpose)] = taker;
}

void Gate::remove_taker(Purpose purpose, const Taker* taker) {
  const std::lock_guard lock(takers_mutex_);
  Taker*& now = takers_[static_cast<std::size_t>(purpose)];
  if (now == taker) now = nullptr;
}

void Gate::run() {
  std::array<epoll_event, 64> events{};
  while (true) {
    const int count = epoll_wait(epoll_.get(), events.data(), events.size(), next_wait_ms());
    for (int i = 0; i < count; ++i) {
      const int fd = events[static_cast<std::size_t>(i)].data.fd;
      if (fd == stop_.get()) return;
      if (fd == listener_.get()) {
        accept_all();
      } else if (const auto found = by_fd_.find(fd); found != by_fd_.end()) {
        serve_or_drop(found->second);
      }
    }
    drop_late();
  }
}

int Gate::next_wait_ms() const {
  Deadline next = Deadline::max();
  if (!newcomers_.empty()) next = newcomers_.front().deadline();
  if (paused_) next = std::min(next, resume_);
  if (next == Deadline::max()) return -1;
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(next - std::chrono::steady_clock::now());
  return static_cast<int>(std::max<std::int64_t>(0, left.count()));
}

void Gate::accept_all() {
  for (int i = 0; i < accepted_at_once && accept_one(); ++i) {
  }
}

bool Gate::accept_one() {
  Fd socket(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (!socket) {
    const bool lacking = errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM;
    if (lacking) make_room(errno);
    return !lacking && (errno == ECONNABORTED || errno == EINTR);
  }
  if (newcomers_.size() >= options_.newcomers_max) {
    drop(newcomers_.begin(), "too many connections have not said their purpose, and this one was the oldest");
  }
  newcomers_.emplace_back(std::move(socket), tls_.get(), secrets_,
                          std::chrono::steady_clock::now() + options_.patience);
  const auto who = std::prev(newcomers_.end());
  by_fd_[who->fd()] = who;
  watch(who->fd(), EPOLLIN, EPOLL_CTL_ADD);
  return true;
}

// Closes all newcomers to free their descriptors. Then pauses the listener, which would stay readable and
// keep the thread busy.
void Gate::make_room(int error) {
  complaints_.add(
      fmt::format("no descriptor is left for a new connection ({}); {} that have not said their purpose are "
                  "closed. Raise ulimit -n, or see who connects to port {}",
                  std::strerror(error), newcomers_.size(), port_));
  while (!newcomers_.empty()) drop(newcomers_.begin(), {});
  watch(listener_.get(), 0, EPOLL_CTL_MOD);
  paused_ = true;
  resume_ = std::chrono::steady_clock::now() + accept_pause;
}

void Gate::drop_late() {
  const auto now = std::chrono::steady_clock::now();
  while (!newcomers_.empty() && newcomers_.front().deadline() <= now) {
    drop(newcomers_.begin(),
         fmt::format("it did not say its purpose within {} ms", options_.patience.count()));
  }
  if (!paused_ || now < resume_) return;
  paused_ = false;
  watch(listener_.get(), EPOLLIN, EPOLL_CTL_MOD);
}

void Gate::watch(int fd, unsigned events, int operation) {
  epoll_event event{};
  event.events = events;
  event.data.fd = fd;
  epoll_ctl(epoll_.get(), operation, fd, &event);
}

void Gate::complain(const Newcomer& who, const std::string& why) {
  if (!why.empty()) complaints_.add(fmt::format("refused a connection from {}: {}", who.peer(), why));
}

void Gate::leave(const Newcomer& who) {
  epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, who.fd(), nullptr);
  by_fd_.erase(who.fd());
}

void Gate::drop(Newcomers::iterator who, const std::string& why) {
  complain(*who, why);
  leave(*who);
  newcomers_.erase(who);
}

// Catches every error: one connection must not close the gate.
void Gate::serve_or_drop(Newcomers::iterator who) {
  try {
    serve(who);
  } catch (const std::exception& error) {
    drop(who, error.what());
  }
}

void Gate::serve(Newcomers::iterator who) {
  switch (who->step()) {
    case Newcomer::State::reads:
      return watch(who->fd(), EPOLLIN, EPOLL_CTL_MOD);
    case Newcomer::State::writes:
      return watch(who->fd(), EPOLLOUT, EPOLL_CTL_MOD);
    case Newcomer::State::failed:
      return drop(who, who->why());
    case Newcomer::State::ready:
      return hand_over(who);
  }
}

void Gate::hand_over(Newcomers::iterator who) {
  // Held until take() has returned, so that no taker is called after remove_taker().
  const std::lock_guard lock(takers_mutex_);
  Taker* const taker = takers_[static_cast<std::size_t>(who->hello().purpose)];
  const Answer answer = answer_to(*who, taker);
  leave(*who);  // before take(), which may close the descriptor: its number may then be reused
  std::unique_ptr<Channel> channel = who->answer(answer);
  complain(*who, answer.reason);
  if (channel && answer.verdict == Verdict::yes) taker->take(std::move(channel), who->hello());
  newcomers_.erase(who);
}

Answer Gate::answer_to(const Newcomer& who, Taker* taker) const {
  if (who.refusal()) return *who.refusal();
  if (who.hello().purpose == Purpose::joining && !options_.takes_joins)
    return {Verdict::no, "it wants to join here, but this is not node 0 of the job"};
  return taker != nullptr ? taker->ask(who.hello()) : Answer{Verdict::later};
}

void Complaints::add(const std::string& text) {
  const auto now = std::chrono::steady_clock::now();
  if (now - since_ > complaint_window) {
    if (counted_ > 0) log::warn("{} further connections were refused or closed, but not logged", counted_);
    since_ = now;
    written_ = counted_ = 0;
  }
  if (written_ < complaints_max) {
    ++written_;
    return log::warn("{}", text);
  }
  if (counted_++ == 0) log::warn("further refused connections are counted, but not logged one by one");
}

}  // namespace d9d::net
