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

// The numeric addresses of a host, those the system prefers first. Environment error when it is not known: names
// of other hosts may come up later.
std::vector<std::string> addresses_of(const std::string& host);

// What to bind in order to be reached by this name. A numeric address stays what it is. Of a name: the address of
// it that this host has; where it has none but loopback (Debian's "127.0.1.1 name" in /etc/hosts, the name of a
// gateway), every address. Environment error as above.
std::string address_to_bind(const std::string& host);

struct Reached {
  std::string address;      // of the other side, numeric
  std::string own_address;  // of this side
};
// Tries the addresses of a host one after another, `timeout` for each: connects and hangs up. Environment error
// with the reason of each.
Reached reach(const std::string& host, std::uint16_t port, std::chrono::milliseconds timeout);

}  // namespace d9d
