#pragma once
// Section `node.tls`: how nodes prove to each other that they are of the job.

#include <boost/describe/class.hpp>

#include <array>
#include <string>

#include "runtime/base/config/keys.hpp"

namespace d9d {

struct TlsConfig {
  std::string ca;
  std::string certificate;
  std::string key;
};
BOOST_DESCRIBE_STRUCT(TlsConfig, (), (ca, certificate, key))
constexpr auto keys_of(config::Tag<TlsConfig>) {
  using namespace config;
  return std::array{
      Key{"ca", "", "PEM file of the job's certificate authority; peers must be signed by it", required},
      Key{"certificate", "", "PEM file of this node's certificate", required},
      Key{"key", "", "PEM file of its private key", required}};
}

}  // namespace d9d
