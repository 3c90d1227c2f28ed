#pragma once
// HOST:PORT as people write it. An IPv6 address stands in brackets wherever a port follows it: [fd00::1]:29500.

#include <cstdint>
#include <optional>
#include <string>

namespace d9d {

struct HostPort {
  std::string host;  // without brackets
  std::uint16_t port = 0;
  bool operator==(const HostPort&) const = default;
};

// A host and an optional port.
struct HostMaybePort {
  std::string host;
  std::optional<std::uint16_t> port;
};

// Parse addresses. Input errors name `what` and say how it is written.
HostPort parse_host_port(const std::string& text, const std::string& what);
HostMaybePort parse_host_maybe_port(const std::string& text, const std::string& what);  // fd00::1 as well
std::uint16_t parse_port(const std::string& text, const std::string& what);

// "10.0.0.1:29500", "[fd00::1]:29500": what parse_host_port reads. `host` may have brackets already.
std::string host_port_text(const std::string& host, const std::string& port);
std::string host_port_text(const std::string& host, std::uint16_t port);

}  // namespace d9d
