#include "runtime/base/host/network.hpp"

#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "runtime/base/error.hpp"

namespace d9d {
namespace {

struct Address {
  sockaddr_storage storage{};
  socklen_t size = sizeof(sockaddr_storage);
  sockaddr* raw() { return reinterpret_cast<sockaddr*>(&storage); }
  const sockaddr* raw() const { return reinterpret_cast<const sockaddr*>(&storage); }
  bool operator==(const Address& other) const {
    return size == other.size && std::memcmp(&storage, &other.storage, size) == 0;
  }
};

class Socket {
 public:
  Socket(int family, int type) : fd_(::socket(family, type | SOCK_CLOEXEC, 0)) {}
  ~Socket() {
    if (fd_ >= 0) ::close(fd_);
  }
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;
  int fd() const { return fd_; }

 private:
  const int fd_;
};

// Empty, with the reason in `problem`, when the resolver does not know it.
std::vector<Address> resolve(const std::string& host, std::uint16_t port, int flags, std::string& problem) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = flags | AI_NUMERICSERV;
  addrinfo* list = nullptr;
  const int code = ::getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &list);
  if (code != 0) {
    problem = code == EAI_SYSTEM ? std::strerror(errno) : ::gai_strerror(code);
    return {};
  }
  std::vector<Address> addresses;
  for (const addrinfo* entry = list; entry != nullptr; entry = entry->ai_next) {
    if (entry->ai_family != AF_INET && entry->ai_family != AF_INET6) continue;
    Address address;
    std::memcpy(&address.storage, entry->ai_addr, entry->ai_addrlen);
    address.size = entry->ai_addrlen;
    if (std::find(addresses.begin(), addresses.end(), address) == addresses.end())
      addresses.push_back(address);
  }
  ::freeaddrinfo(list);
  return addresses;
}

std::vector<Address> resolve_or_throw(const std::string& host, std::uint16_t port) {
  std::string problem;
  std::vector<Address> addresses = resolve(host, port, 0, problem);
  if (addresses.empty()) {
    throw Error(ErrorKind::environment, fmt::format("the name {} is not known here: {}", host, problem));
  }
  return addresses;
}

std::string text_of(const Address& address) {
  char host[NI_MAXHOST] = "";
  ::getnameinfo(address.raw(), address.size, host, sizeof host, nullptr, 0, NI_NUMERICHOST);
  return host;
}

Address name_of(const Socket& socket, int (*getname)(int, sockaddr*, socklen_t*)) {
  Address address;
  getname(socket.fd(), address.raw(), &address.size);
  return address;
}

// 0 or what errno would say.
int connect_within(const Socket& socket, const Address& to, std::chrono::milliseconds timeout) {
  if (socket.fd() < 0) return errno;
  ::fcntl(socket.fd(), F_SETFL, ::fcntl(socket.fd(), F_GETFL) | O_NONBLOCK);
  if (::connect(socket.fd(), to.raw(), to.size) == 0) return 0;
  if (errno != EINPROGRESS) return errno;
  pollfd ready{.fd = socket.fd(), .events = POLLOUT, .revents = 0};
  const int count = ::poll(&ready, 1, static_cast<int>(timeout.count()));
  if (count <= 0) return count == 0 ? ETIMEDOUT : errno;
  int problem = 0;
  socklen_t size = sizeof problem;
  ::getsockopt(socket.fd(), SOL_SOCKET, SO_ERROR, &problem, &size);
  return problem;
}

bool is_of_this_host(const Address& address) {
  const Socket socket(address.storage.ss_family, SOCK_STREAM);
  return socket.fd() >= 0 && ::bind(socket.fd(), address.raw(), address.size) == 0;
}

}  // namespace

bool is_numeric(const std::string& host) {
  std::string ignored;
  return !resolve(host, 0, AI_NUMERICHOST, ignored).empty();
}

bool is_wildcard(const std::string& host) {
  return host == "0.0.0.0" || host == "::";
}

bool is_loopback(const std::string& host) {
  if (host == "localhost") return true;
  std::string ignored;
  const std::vector<Address> addresses = resolve(host, 0, AI_NUMERICHOST, ignored);
  if (addresses.empty()) return false;
  std::string text = text_of(addresses[0]);
  const std::string mapped = "::ffff:";  // IPv4 in the clothes of IPv6
  if (text.starts_with(mapped)) text = text.substr(mapped.size());
  return text == "::1" || text.starts_with("127.");
}

std::vector<std::string> addresses_of(const std::string& host) {
  std::vector<std::string> texts;
  for (const Address& address : resolve_or_throw(host, 0)) texts.push_back(text_of(address));
  return texts;
}

std::string address_to_bind(const std::string& host) {
  std::vector<Address> addresses = resolve_or_throw(host, 0);
  if (is_numeric(host)) return text_of(addresses[0]);
  // IPv4 first: who asks for the name on another host tries all of its addresses.
  std::stable_partition(addresses.begin(), addresses.end(),
                        [](const Address& address) { return address.storage.ss_family == AF_INET; });
  for (const Address& address : addresses) {
    const std::string text = text_of(address);
    if (is_of_this_host(address) && is_loopback(text) == (host == "localhost")) return text;
  }
  return addresses[0].storage.ss_family == AF_INET ? "0.0.0.0" : "::";
}

Reached reach(const std::string& host, std::uint16_t port, std::chrono::milliseconds timeout) {
  std::string problems;
  for (const Address& address : resolve_or_throw(host, port)) {
    const Socket socket(address.storage.ss_family, SOCK_STREAM);
    int problem = connect_within(socket, address, timeout);
    if (problem == 0) {
      const Address own = name_of(socket, &::getsockname);
      // Without a listener, a host's connection to itself may meet itself.
      if (!(own == name_of(socket, &::getpeername))) return {text_of(address), text_of(own)};
      problem = ECONNREFUSED;
    }
    const std::string reason = problem == ETIMEDOUT ? "no answer" : std::strerror(problem);
    problems += problems.empty() ? "" : ", ";
    problems += is_numeric(host) ? reason : fmt::format("{}: {}", text_of(address), reason);
  }
  throw Error(ErrorKind::environment, problems);
}

}  // namespace d9d
