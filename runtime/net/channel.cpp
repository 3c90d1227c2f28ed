#include "runtime/net/channel.hpp"

#include <poll.h>
#include <sys/socket.h>

#include <cstring>

#include "runtime/net/tls_channel.hpp"

namespace d9d::net {
namespace {

class PlainChannel final : public Channel {
 public:
  explicit PlainChannel(Fd socket) : Channel(std::move(socket)) {}

  Io shake_hands() override { return Io::done; }

  Io read(void* data, std::size_t bytes, std::size_t& got) override {
    const ssize_t n = recv(fd(), data, bytes, MSG_DONTWAIT);
    if (n > 0) {
      got = static_cast<std::size_t>(n);
      return Io::done;
    }
    if (n == 0) return fail(closed_text);
    return try_again(errno) ? Io::reads : fail(std::strerror(errno));
  }

  Io write(const iovec* parts, int num_parts, std::size_t& sent) override {
    msghdr message{};
    message.msg_iov = const_cast<iovec*>(parts);
    message.msg_iovlen = static_cast<std::size_t>(num_parts);
    // Without MSG_NOSIGNAL a write to a peer that is gone would kill this process (SIGPIPE).
    const ssize_t n = sendmsg(fd(), &message, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (n >= 0) {
      sent = static_cast<std::size_t>(n);
      return Io::done;
    }
    return try_again(errno) ? Io::writes : fail(std::strerror(errno));
  }

  bool hides_bytes() const override { return false; }
};

// Calls `step` until done(), and waits for the socket in between. False at the deadline and after a failure.
template <class Step, class Done>
bool until(Channel& channel, Deadline deadline, int cancel, Step&& step, Done&& done) {
  while (true) {
    const Io io = step();
    if (io == Io::failed) return false;
    if (io == Io::done) {
      if (done()) return true;
      continue;
    }
    if (!wait_for(channel.fd(), io == Io::reads ? POLLIN : POLLOUT, deadline, cancel)) return false;
  }
}

}  // namespace

std::unique_ptr<Channel> make_channel(Fd socket, const Tls* tls, Side side) {
  if (tls != nullptr) return make_tls_channel(std::move(socket), *tls, side);
  return std::make_unique<PlainChannel>(std::move(socket));
}

bool shake_hands_fully(Channel& channel, Deadline deadline, int cancel) {
  return until(
      channel, deadline, cancel, [&] { return channel.shake_hands(); }, [] { return true; });
}

bool read_fully(Channel& channel, void* data, std::size_t bytes, Deadline deadline, int cancel) {
  auto* at = static_cast<std::byte*>(data);
  std::size_t got = 0;
  const auto step = [&] { return channel.read(at, bytes, got); };
  return until(channel, deadline, cancel, step, [&] {
    at += got;
    bytes -= got;
    return bytes == 0;
  });
}

bool write_fully(Channel& channel, const void* data, std::size_t bytes, Deadline deadline, int cancel) {
  iovec part{const_cast<void*>(data), bytes};
  std::size_t sent = 0;
  const auto step = [&] { return channel.write(&part, 1, sent); };
  return until(channel, deadline, cancel, step, [&] {
    part.iov_base = static_cast<std::byte*>(part.iov_base) + sent;
    part.iov_len -= sent;
    return part.iov_len == 0;
  });
}

}  // namespace d9d::net
