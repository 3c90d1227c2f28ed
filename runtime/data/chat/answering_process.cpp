#include "runtime/data/chat/answering_process.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstring>

#include "runtime/base/error.hpp"
#include "runtime/base/host/start_program.hpp"

namespace d9d {
namespace {

constexpr std::size_t piece_bytes = 64 << 10;

[[noreturn]] void fail_with_errno(const char* what) {
  throw Error(ErrorKind::environment, fmt::format("{}: {}", what, std::strerror(errno)));
}

}  // namespace

AnsweringProcess::AnsweringProcess(const std::vector<std::string>& words) {
  int ends[2] = {-1, -1};
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) fail_with_errno("cannot make a socket");
  channel_ = ends[0];
  const int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
  const auto close_theirs = [&] {
    close(ends[1]);
    if (nowhere >= 0) close(nowhere);
  };
  try {
    pid_ = start_program(words, ends[1], ends[1], nowhere);
  } catch (const Error&) {
    close_theirs();
    close(channel_);
    throw;
  }
  close_theirs();
}

AnsweringProcess::~AnsweringProcess() {
  close(channel_);
  kill(pid_, SIGKILL);
  while (waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

void AnsweringProcess::say(std::string_view line) {
  waiting_.append(line).push_back('\n');
  send_waiting();
}

std::optional<std::string> AnsweringProcess::answer(std::chrono::milliseconds patience) {
  const auto deadline = std::chrono::steady_clock::now() + patience;
  while (true) {
    if (const std::size_t end = received_.find('\n', taken_); end != std::string::npos) {
      std::string line = received_.substr(taken_, end - taken_);
      taken_ = end + 1;
      if (taken_ >= piece_bytes || taken_ == received_.size()) {
        received_.erase(0, taken_);
        taken_ = 0;
      }
      return line;
    }
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
    pollfd both{channel_, static_cast<short>(waiting_.empty() ? POLLIN : POLLIN | POLLOUT), 0};
    const int ready = poll(&both, 1, static_cast<int>(std::max<std::int64_t>(left.count(), 0)));
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) return std::nullopt;
    if ((both.revents & POLLOUT) != 0) send_waiting();
    if ((both.revents & (POLLIN | POLLHUP | POLLERR)) != 0 && !receive()) return std::nullopt;
  }
}

void AnsweringProcess::send_waiting() {
  while (sent_ < waiting_.size()) {
    const ssize_t sent =
        send(channel_, waiting_.data() + sent_, waiting_.size() - sent_, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return;
    if (sent < 0) break;  // It has ended; the next answer is none.
    sent_ += static_cast<std::size_t>(sent);
  }
  waiting_.clear();
  sent_ = 0;
}

bool AnsweringProcess::receive() {
  std::array<char, piece_bytes> piece{};
  const ssize_t got = recv(channel_, piece.data(), piece.size(), MSG_DONTWAIT);
  if (got < 0) return errno == EINTR || errno == EAGAIN || errno == EWOULDBLOCK;
  received_.append(piece.data(), static_cast<std::size_t>(got));
  return got > 0;
}

}  // namespace d9d
