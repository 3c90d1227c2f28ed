#pragma once
// Addresses, as this host's resolver and routes know them. Numeric addresses are text without brackets.

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace d9d {

bool is_numeric(const std::string& host);
bool is_wildcard(const std::string& host);  // 0.0.0.0 and ::
bool is_loopback(const std::string& host);  // localhost, 127.x.y.z, ::1

// Returns the numeric addresses of a host, in the system's order of preference. Environment error:
// the host is not known; the name of another host may become known later.
std::vector<std::string> addresses_of(const std::string& host);

// Returns the address to bind so that others reach this host by `host`. A numeric address is
// returned as it is. For a name it is the address of the name that this host has. If that is
// loopback only (Debian's "127.0.1.1 name" in /etc/hosts) or none (the name of a gateway), it is
// every address. Environment error as above.
std::string address_to_bind(const std::string& host);

struct Reached {
  std::string address;      // of the other side, numeric
  std::string own_address;  // of this side
};
// Connects to a host and hangs up: tries its addresses one after another, `timeout` for each. The
// environment error has the reason of each failure.
Reached reach(const std::string& host, std::uint16_t port, std::chrono::milliseconds timeout);

}  // namespace d9d
