#include "runtime/launch/node_address.hpp"

#include "runtime/base/error.hpp"
#include "runtime/base/host/network.hpp"

namespace d9d {
namespace {

// Without TLS a stranger on the network could join: only loopback, unless the job says that it knows.
void require_protection(const AddressOptions& address, const std::string& host, const std::string& what) {
  D9D_REQUIRE(address.tls || address.insecure || is_loopback(host),
              "{} leads beyond this host, but nothing protects the connections: give node.tls {{ca, "
              "certificate, key}}, or set node.insecure: true on a network you trust",
              what);
}

// What the user looks for: the option, or the variable that stands for it.
std::string said_by(const RunOptions& options, const char* option) {
  return options.address_from.empty() ? option : options.address_from + ":";
}

// "0" and "[0::0]" are wildcards as well.
HostPort parse_listen(const std::string& text, const std::string& what) {
  HostPort address = parse_host_port(text, what);
  if (is_numeric(address.host)) address.host = addresses_of(address.host).at(0);
  return address;
}

}  // namespace

AddressOptions address_options(const JobConfig& job, const RunOptions& options) {
  const NodeConfig& node = job.node;
  AddressOptions address{.tls = node.tls.has_value(), .insecure = node.insecure};
  if (node.advertise) {
    address.advertise = parse_host_maybe_port(*node.advertise, "node.advertise");
    D9D_REQUIRE(!is_wildcard(address.advertise->host) && address.advertise->port != 0,
                "node.advertise is {}; it has to be what other hosts can dial", *node.advertise);
  }
  if (options.listen) {
    const std::string what = said_by(options, "--listen");
    address.listen = parse_listen(*options.listen, what);
    require_protection(address, address.listen->host, what + " " + *options.listen);
  } else if (!options.join) {
    const std::string text = node.listen.value_or("127.0.0.1:0");
    address.listen = parse_listen(text, "node.listen");
    require_protection(address, address.listen->host, "node.listen " + text);
  }
  if (options.join)
    require_protection(address, address_of_first_node(options).host,
                       said_by(options, "--join") + " " + *options.join);
  return address;
}

HostPort address_of_first_node(const RunOptions& options) {
  const HostPort address = parse_host_port(*options.join, said_by(options, "--join"));
  D9D_REQUIRE(address.port != 0,
              "--join is {}; port 0 is for listening. Node 0 prints its port: \"listening on HOST:PORT\"",
              *options.join);
  D9D_REQUIRE(!is_numeric(address.host) || !is_wildcard(addresses_of(address.host).at(0)),
              "--join is {}; that means every address of this host. Give the address of node 0's host",
              *options.join);
  return address;
}

HostPort status_address(const JobConfig& job) {
  return parse_host_port(*job.node.status, "node.status");
}

}  // namespace d9d
