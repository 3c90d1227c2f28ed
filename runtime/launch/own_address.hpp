#pragma once
// Where a process listens, and the address it gives to others.
// No sockets: what has to be asked of the system is handed in.

#include <optional>
#include <string>

#include "runtime/base/host/host_port.hpp"

namespace d9d {

struct AddressOptions {
  // Nothing: a joining node listens on its address on the route to node 0, on a port of the system's choice.
  std::optional<HostPort> listen;
  std::optional<HostMaybePort> advertise;  // as the user says it; wins
  bool tls = false;
  bool insecure = false;  // the user knows that nothing protects the connections
};

// What to bind, numeric. `route`: this host's address on the way to node 0, empty
// on node 0. Asks the resolver where `listen` is a name, see address_to_bind.
// Input error when it can be reached from other hosts and nothing protects it.
std::string host_to_bind(const AddressOptions& options, const std::string& route);
std::uint16_t port_to_bind(const AddressOptions& options);

// What others are told, once the port is open. Node 0 (no route) tells a host only where `advertise` has one: the
// others know best under which address they have reached it.
HostPort announced(const AddressOptions& options, std::uint16_t bound_port, const std::string& route);

// Whether this has to be said: open beyond this host, unprotected.
bool is_unprotected(const AddressOptions& options, const std::string& bound_host);

}  // namespace d9d
