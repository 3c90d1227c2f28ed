#pragma once
// TCP addresses: IPv4, IPv6 and names, which are looked up when they are used. Sockets are non-blocking, without
// delay for small messages, and closed on exec.

#include <chrono>
#include <cstdint>
#include <string>

#include "runtime/net/fd.hpp"

namespace d9d::net {

using Deadline = std::chrono::steady_clock::time_point;

// Environment error when the port is taken or the address is not one of this host. Port 0: see port_of().
Fd listen_on(const std::string& host, std::uint16_t port);
std::uint16_t port_of(int socket);
// HOST:PORT of the other end, "somebody" when it is gone already.
std::string peer_of(int socket);

// Every address of the name in turn. Environment error that says why none answers. `cancel`: readable when the
// caller does not want it any more (-1: never).
Fd connect_to(const std::string& host, std::uint16_t port, Deadline deadline, int cancel = -1);

// Waits for POLLIN or POLLOUT. False at the deadline or when `cancel` is readable.
bool wait_for(int socket, short events, Deadline deadline, int cancel = -1);

}  // namespace d9d::net
