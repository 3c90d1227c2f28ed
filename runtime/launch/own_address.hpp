#pragma once
// Decides where a process listens, and the address that it announces to others. Opens no sockets: callers
// pass in what only the system knows.

#include <optional>
#include <string>

#include "runtime/base/host/host_port.hpp"

namespace d9d {

struct AddressOptions {
  // None: a joining node listens on its address on the route to node 0, on a port that the system chooses.
  std::optional<HostPort> listen;
  std::optional<HostMaybePort> advertise;  // the announced address if the user gives one
  bool tls = false;
  bool insecure = false;  // the user accepts connections without protection
};

// The numeric address to bind. `route`: this host's address on the way to node 0, empty on node 0. Asks the
// resolver when `listen` is a name, see address_to_bind. Input error when other hosts can reach the address
// and neither TLS nor `insecure` is set.
std::string host_to_bind(const AddressOptions& options, const std::string& route);
std::uint16_t port_to_bind(const AddressOptions& options);

// The address to announce once the port is open. Node 0 (empty `route`) announces a host only if
// `advertise` has one, because each other node already knows the address at which it reached node 0.
HostPort announced(const AddressOptions& options, std::uint16_t bound_port, const std::string& route);

// True when other hosts can reach the port and nothing protects it; the log then warns.
bool is_unprotected(const AddressOptions& options, const std::string& bound_host);

}  // namespace d9d
