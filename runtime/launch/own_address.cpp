#include "runtime/launch/own_address.hpp"

#include "runtime/base/error.hpp"
#include "runtime/base/host/network.hpp"

namespace d9d {

std::string host_to_bind(const AddressOptions& options, const std::string& route) {
  D9D_CHECK(options.listen || !route.empty(), "no address to listen on");
  const std::string host = options.listen ? address_to_bind(options.listen->host) : route;
  D9D_REQUIRE(is_loopback(host) || options.tls || options.insecure,
              "this node has to listen on {}, which other hosts can reach, but nothing protects the "
              "connections: give node.tls {{ca, certificate, key}}, or set node.insecure: true on a network "
              "you trust",
              host);
  return host;
}

std::uint16_t port_to_bind(const AddressOptions& options) {
  return options.listen ? options.listen->port : 0;
}

HostPort announced(const AddressOptions& options, std::uint16_t bound_port, const std::string& route) {
  HostPort address{route, bound_port};
  // A name is announced as it was given, because it may have another address on the other hosts.
  const bool known = options.listen && !is_wildcard(options.listen->host);
  if (known && !route.empty()) address.host = options.listen->host;
  if (!options.advertise) return address;
  return {options.advertise->host, options.advertise->port.value_or(bound_port)};
}

bool is_unprotected(const AddressOptions& options, const std::string& bound_host) {
  return !options.tls && !is_loopback(bound_host);
}

}  // namespace d9d
