#include "runtime/net/address.hpp"

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "runtime/base/error.hpp"
#include "runtime/base/host/host_port.hpp"
#include "runtime/net/fail.hpp"

namespace d9d::net {
namespace {

constexpr int listen_backlog = 4096;

class Resolved {
 public:
  Resolved(const std::string& host, std::uint16_t port, int flags) {
    addrinfo hints{};
    hints.ai_socktype = SOCK_STREAM;
    hints.ai_flags = flags | AI_NUMERICSERV;
    const bool bracketed = host.size() > 2 && host.front() == '[' && host.back() == ']';
    const std::string name = bracketed ? host.substr(1, host.size() - 2) : host;
    const int code = getaddrinfo(name.c_str(), std::to_string(port).c_str(), &hints, &list_);
    if (code != 0) fail_environment(fmt::format("the address {} is unknown: {}", host, gai_strerror(code)));
  }
  ~Resolved() { freeaddrinfo(list_); }
  Resolved(const Resolved&) = delete;
  Resolved& operator=(const Resolved&) = delete;
  const addrinfo* first() const { return list_; }

 private:
  addrinfo* list_ = nullptr;
};

Fd new_socket(const addrinfo& address) {
  Fd fd(socket(address.ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const int yes = 1;
  if (fd) setsockopt(fd.get(), IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes));
  return fd;
}

// Returns 0 if connected, else an errno; ECANCELED after `cancel`.
int connect_one(int fd, const addrinfo& address, Deadline deadline, int cancel) {
  if (connect(fd, address.ai_addr, address.ai_addrlen) == 0) return 0;
  if (errno != EINPROGRESS) return errno;
  if (!wait_for(fd, POLLOUT, deadline, cancel)) {
    return std::chrono::steady_clock::now() < deadline ? ECANCELED : ETIMEDOUT;
  }
  int error = 0;
  socklen_t size = sizeof(error);
  getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size);
  return error;
}

std::string numeric(const sockaddr_storage& address) {
  char host[NI_MAXHOST] = "", port[NI_MAXSERV] = "";
  getnameinfo(reinterpret_cast<const sockaddr*>(&address), sizeof(address), host, sizeof(host), port,
              sizeof(port), NI_NUMERICHOST | NI_NUMERICSERV);
  return host_port_text(host, static_cast<std::uint16_t>(std::atoi(port)));
}

}  // namespace

Fd listen_on(const std::string& host, std::uint16_t port) {
  const Resolved resolved(host, port, AI_PASSIVE);
  const addrinfo& address = *resolved.first();
  Fd fd = new_socket(address);
  // A killed job may be started again at once, while the system still closes its connections. They must not
  // keep the port taken (SO_REUSEADDR). `::` listens on IPv4, too.
  const int yes = 1, no = 0;
  if (fd) setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
  if (fd && address.ai_family == AF_INET6) setsockopt(fd.get(), IPPROTO_IPV6, IPV6_V6ONLY, &no, sizeof(no));
  if (!fd || bind(fd.get(), address.ai_addr, address.ai_addrlen) != 0 ||
      listen(fd.get(), listen_backlog) != 0) {
    const int error = errno;
    fail_environment(fmt::format(
        "cannot listen on {} ({}). Is the port in use, or is that no address of this host? Choose "
        "another with --listen HOST:PORT or node.listen; port 0 lets the system choose, 0.0.0.0 and "
        ":: listen on all addresses",
        host_port_text(host, port), std::strerror(error)));
  }
  return fd;
}

std::uint16_t port_of(int socket) {
  sockaddr_storage bound{};
  socklen_t size = sizeof(bound);
  getsockname(socket, reinterpret_cast<sockaddr*>(&bound), &size);
  return ntohs(bound.ss_family == AF_INET6 ? reinterpret_cast<sockaddr_in6&>(bound).sin6_port
                                           : reinterpret_cast<sockaddr_in&>(bound).sin_port);
}

std::string peer_of(int socket) {
  sockaddr_storage peer{};
  socklen_t size = sizeof(peer);
  if (getpeername(socket, reinterpret_cast<sockaddr*>(&peer), &size) != 0) return "somebody";
  return numeric(peer);
}

Fd connect_to(const std::string& host, std::uint16_t port, Deadline deadline, int cancel) {
  return connect_to_one_of(Resolved(host, port, 0).first(), deadline, cancel);
}

Fd connect_to_one_of(const addrinfo* addresses, Deadline deadline, int cancel) {
  int left = 0, error = 0;
  for (const addrinfo* address = addresses; address != nullptr; address = address->ai_next) ++left;
  for (const addrinfo* address = addresses; address != nullptr; address = address->ai_next, --left) {
    const Deadline now = std::chrono::steady_clock::now();
    Fd fd = new_socket(*address);
    error = fd ? connect_one(fd.get(), *address, now + (deadline - now) / left, cancel) : errno;
    if (error == 0) return fd;
  }
  fail_environment(std::strerror(error));
}

bool wait_for(int socket, short events, Deadline deadline, int cancel) {
  while (true) {
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
    pollfd fds[] = {{socket, events, 0}, {cancel, POLLIN, 0}};
    const int ready = poll(fds, 2, static_cast<int>(std::clamp<std::int64_t>(left.count(), 0, 60'000)));
    if (ready < 0 && errno == EINTR) continue;
    if (ready > 0 && fds[1].revents != 0) return false;
    if (ready > 0) return true;
    if (left.count() <= 0) return false;
  }
}

}  // namespace d9d::net
