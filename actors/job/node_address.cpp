#include "actors/job/node_address.hpp"

#include "runtime/base/error.hpp"

namespace d9d {
namespace {

bool is_loopback(const std::string& host) {
  return host == "localhost" || host == "::1" || host.rfind("127.", 0) == 0;
}

}  // namespace

HostPort parse_host_port(const std::string& text, const std::string& what) {
  const std::size_t colon = text.rfind(':');
  const std::string digits = colon == std::string::npos ? "" : text.substr(colon + 1);
  const bool number =
      !digits.empty() && digits.size() <= 5 && digits.find_first_not_of("0123456789") == std::string::npos;
  D9D_REQUIRE(number && colon > 0 && std::stoi(digits) <= 65535,
              "{} is \"{}\"; it has to be HOST:PORT, for example 127.0.0.1:29500", what, text);
  return {text.substr(0, colon), static_cast<std::uint16_t>(std::stoi(digits))};
}

// Without TLS a stranger on the network could join: only loopback, unless the job says that it knows.
HostPort listening_address(const JobConfig& job, const RunOptions& options) {
  const NodeConfig& node = job.node;
  const std::string text = options.listen ? *options.listen : node.listen.value_or("127.0.0.1:0");
  HostPort address = parse_host_port(text, options.listen ? "--listen" : "node.listen");
  D9D_REQUIRE(
      is_loopback(address.host) || node.tls || node.insecure,
      "node.listen is {} but the connection is not protected: give node.tls {{ca, certificate, key}}, or set "
      "node.insecure: true on a network you trust",
      text);
  return address;
}

}  // namespace d9d
