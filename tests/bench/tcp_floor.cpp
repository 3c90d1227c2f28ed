#include "tests/bench/tcp_floor.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <thread>

#include "runtime/base/clock.hpp"
#include "runtime/base/error.hpp"

namespace d9d {
namespace {

constexpr std::uint64_t warmup = 200;

struct Socket {
  explicit Socket(int given) : fd(given) {
    if (fd < 0) throw Error(ErrorKind::environment, "no loopback socket for the TCP floor");
  }
  ~Socket() { close(fd); }
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;
  void no_delay() const {
    const int on = 1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  }
  void send_all(const std::vector<char>& buffer) const {
    if (send(fd, buffer.data(), buffer.size(), 0) != static_cast<ssize_t>(buffer.size())) {
      throw Error(ErrorKind::environment, "the loopback socket was closed");
    }
  }
  void receive_all(std::vector<char>& buffer) const {
    if (recv(fd, buffer.data(), buffer.size(), MSG_WAITALL) != static_cast<ssize_t>(buffer.size())) {
      throw Error(ErrorKind::environment, "the loopback socket was closed");
    }
  }
  const int fd;
};

}  // namespace

std::vector<double> tcp_floor_us(std::uint64_t rounds, std::size_t bytes) {
  const Socket listener(socket(AF_INET, SOCK_STREAM, 0));
  sockaddr_in address{.sin_family = AF_INET};
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof address;
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  if (bind(listener.fd, generic, length) != 0 || listen(listener.fd, 1) != 0 ||
      getsockname(listener.fd, generic, &length) != 0) {
    throw Error(ErrorKind::environment, "cannot listen on loopback");
  }
  std::jthread echo([&] {
    const Socket peer(accept(listener.fd, nullptr, nullptr));
    peer.no_delay();
    std::vector<char> buffer(bytes);
    for (std::uint64_t i = 0; i < warmup + rounds; ++i) {
      peer.receive_all(buffer);
      peer.send_all(buffer);
    }
  });
  const Socket client(socket(AF_INET, SOCK_STREAM, 0));
  if (connect(client.fd, generic, length) != 0) throw Error(ErrorKind::environment, "cannot connect");
  client.no_delay();
  const SystemClock clock;
  std::vector<char> buffer(bytes);
  std::vector<double> times;
  for (std::uint64_t i = 0; i < warmup + rounds; ++i) {
    const std::int64_t begin = clock.now_ns();
    client.send_all(buffer);
    client.receive_all(buffer);
    if (i >= warmup) times.push_back(1e-3 * static_cast<double>(clock.now_ns() - begin));
  }
  return times;
}

}  // namespace d9d
