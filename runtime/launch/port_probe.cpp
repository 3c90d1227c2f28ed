#include "runtime/launch/port_probe.hpp"

#include <arpa/inet.h>
#include <fmt/ranges.h>
#include <ifaddrs.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
#include <vector>

#include "runtime/base/error.hpp"

namespace d9d {
namespace {

std::string without_brackets(const std::string& host) {
  const bool bracketed = host.size() > 2 && host.front() == '[' && host.back() == ']';
  return bracketed ? host.substr(1, host.size() - 2) : host;
}

// 0, or the system's reason.
int why_not_bound(const addrinfo& address) {
  const int number = ::socket(address.ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (number < 0) return errno;
  const int yes = 1;
  // What a listener that ended a moment ago leaves behind is no obstacle.
  ::setsockopt(number, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  const int reason = ::bind(number, address.ai_addr, address.ai_addrlen) == 0 ? 0 : errno;
  ::close(number);
  return reason;
}

std::vector<std::string> own_addresses() {
  ifaddrs* all = nullptr;
  if (::getifaddrs(&all) != 0) return {};
  const std::unique_ptr<ifaddrs, decltype(&::freeifaddrs)> owner(all, &::freeifaddrs);
  std::vector<std::string> texts;
  for (const ifaddrs* one = all; one != nullptr; one = one->ifa_next) {
    const int family = one->ifa_addr == nullptr ? AF_UNSPEC : one->ifa_addr->sa_family;
    if (family != AF_INET && family != AF_INET6) continue;
    const socklen_t bytes = family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
    std::array<char, NI_MAXHOST> text{};
    const int status =
        ::getnameinfo(one->ifa_addr, bytes, text.data(), text.size(), nullptr, 0, NI_NUMERICHOST);
    if (status == 0) texts.emplace_back(text.data());
  }
  return texts;
}

}  // namespace

void require_bindable(const std::string& host, std::uint16_t port, const std::string& key) {
  const addrinfo hints{.ai_flags = AI_PASSIVE, .ai_socktype = SOCK_STREAM};
  addrinfo* found = nullptr;
  const std::string name = without_brackets(host);
  if (::getaddrinfo(name.c_str(), std::to_string(port).c_str(), &hints, &found) != 0) return;
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owner(found, &::freeaddrinfo);
  int reason = 0;
  for (const addrinfo* address = found; address != nullptr; address = address->ai_next) {
    reason = why_not_bound(*address);
    if (reason == 0) return;
  }
  D9D_REQUIRE(reason != EADDRNOTAVAIL, "{}: {} is no address of this host; it has {}", key, host,
              fmt::join(own_addresses(), ", "));
  const char* remedy = reason == EADDRINUSE ? "another process listens there; choose another port, or end it"
                                            : "choose another port";
  throw Error(ErrorKind::environment, fmt::format("{}: cannot listen on {}:{} ({}); {}", key, host, port,
                                                  std::strerror(reason), remedy));
}

}  // namespace d9d
