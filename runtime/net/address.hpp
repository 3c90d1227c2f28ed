#pragma once
// Listens at and connects to TCP addresses: IPv4, IPv6 and names, which are looked up when they are used.
// Sockets are non-blocking, send small messages without delay (TCP_NODELAY), and are closed on exec.

#include <chrono>
#include <cstdint>
#include <string>

#include "runtime/net/fd.hpp"

struct addrinfo;

namespace d9d::net {

using Deadline = std::chrono::steady_clock::time_point;

// Listens at the address. With port 0 the system chooses: see port_of(). Environment error if the port is
// taken or the address is not one of this host.
Fd listen_on(const std::string& host, std::uint16_t port);
std::uint16_t port_of(int socket);
// Returns HOST:PORT of the other end, or "somebody" if it is gone already.
std::string peer_of(int socket);

// Tries every address of the name in turn. The environment error says why none answers. `cancel`: a
// descriptor that becomes readable to end the attempt (-1: none).
Fd connect_to(const std::string& host, std::uint16_t port, Deadline deadline, int cancel = -1);
// The same for a list of addresses. One that does not answer at all, as behind a firewall, leaves the others
// their share of the time.
Fd connect_to_one_of(const addrinfo* addresses, Deadline deadline, int cancel = -1);

// Waits for `events` (POLLIN or POLLOUT). Returns false at the deadline or when `cancel` is readable.
bool wait_for(int socket, short events, Deadline deadline, int cancel = -1);

}  // namespace d9d::net
