#include "runtime/base/host/host_port.hpp"

#include <algorithm>

#include "runtime/base/config/scalar.hpp"
#include "runtime/base/error.hpp"

namespace d9d {
namespace {

constexpr std::int64_t port_max = 65535;

bool is_host(const std::string& host) {
  return !host.empty() && host.find_first_of(" /%[]\t") == std::string::npos;
}

// "[fd00::1]REST" -> fd00::1 and REST, also for other hosts without brackets.
struct Split {
  std::string host;
  std::string rest;  // ":PORT", or empty
  bool brackets = false;
};

Split split(const std::string& text) {
  if (text.starts_with('[')) {
    const std::size_t end = text.find(']');
    if (end == std::string::npos) return {};
    return {text.substr(1, end - 1), text.substr(end + 1), true};
  }
  const std::size_t colon = text.rfind(':');
  if (colon == std::string::npos) return {text, ""};
  return {text.substr(0, colon), text.substr(colon)};
}

}  // namespace

std::uint16_t parse_port(const std::string& text, const std::string& what) {
  const auto number = config::integer_from(text);
  D9D_REQUIRE(number && *number >= 0 && *number <= port_max, "{} is \"{}\"; a port is a number from 0 to {}",
              what, text, port_max);
  return static_cast<std::uint16_t>(*number);
}

HostPort parse_host_port(const std::string& text, const std::string& what) {
  const Split parts = split(text);
  D9D_REQUIRE(parts.brackets || std::count(text.begin(), text.end(), ':') < 2,
              "{} is \"{}\"; an IPv6 address with a port is written in brackets, for example [fd00::1]:29500",
              what, text);
  D9D_REQUIRE(is_host(parts.host) && parts.rest.starts_with(':'),
              "{} is \"{}\"; it has to be HOST:PORT, for example 10.0.0.1:29500 or [fd00::1]:29500", what,
              text);
  return {parts.host, parse_port(parts.rest.substr(1), fmt::format("the port of {} ({})", what, text))};
}

HostMaybePort parse_host_maybe_port(const std::string& text, const std::string& what) {
  // Two colons without brackets: an IPv6 address, whole.
  const bool bare = !text.starts_with('[') && std::count(text.begin(), text.end(), ':') >= 2;
  const Split parts = bare ? Split{text, ""} : split(text);
  D9D_REQUIRE(is_host(parts.host) && (parts.rest.empty() || parts.rest.starts_with(':')),
              "{} is \"{}\"; it has to be HOST or HOST:PORT, for example 10.0.0.1 or [fd00::1]:29500", what,
              text);
  if (parts.rest.empty()) return {parts.host, std::nullopt};
  return {parts.host, parse_port(parts.rest.substr(1), fmt::format("the port of {} ({})", what, text))};
}

std::string host_port_text(const std::string& host, const std::string& port) {
  const bool needs_brackets = host.find(':') != std::string::npos && !host.starts_with('[');
  return needs_brackets ? fmt::format("[{}]:{}", host, port) : fmt::format("{}:{}", host, port);
}

std::string host_port_text(const std::string& host, std::uint16_t port) {
  return host_port_text(host, std::to_string(port));
}

}  // namespace d9d
