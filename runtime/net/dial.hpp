#pragma once
// The dialling side of a connection: reach the gate of a node, prove who we are, say what for.

#include <memory>
#include <string>

#include "runtime/base/error.hpp"
#include "runtime/net/channel.hpp"
#include "runtime/net/hello.hpp"
#include "runtime/net/secrets.hpp"

namespace d9d::net {

struct DialOptions {
  std::string host;
  std::uint16_t port = 0;
  const Tls* tls = nullptr;          // null: plain
  const Secrets* secrets = nullptr;  // null: none, as of a Secrets by itself
  Hello hello;                       // without nonce and kind of secret
  Deadline deadline;
  int cancel = -1;                             // readable: give up
  std::chrono::milliseconds redial_after{50};  // where the other side says later
};

// Environment error: the two sides do not know the same secret, and to dial again would change nothing.
class StrangerError : public Error {
 public:
  explicit StrangerError(const std::string& what) : Error(ErrorKind::environment, what) {}
};

// Waits for the answer of the other side. Environment error that says what went wrong, without the address.
std::unique_ptr<Channel> dial(const DialOptions& options);

}  // namespace d9d::net
