#pragma once
// The dialling side of a connection: connects to the gate of a node, says the purpose, and
// proves the job's secret.

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
  const Secrets* secrets = nullptr;  // null: a job without a secret
  Hello hello;                       // dial() adds nonce and kind of secret
  Deadline deadline;
  int cancel = -1;                             // becomes readable to end the attempt
  std::chrono::milliseconds redial_after{50};  // after the answer "later"
};

// An environment error: the two sides do not know the same secret. Do not dial again,
// it would change nothing.
class StrangerError : public Error {
 public:
  explicit StrangerError(const std::string& what) : Error(ErrorKind::environment, what) {}
};

// Connects and waits for the other side's yes. The environment error says what went
// wrong, without the address.
std::unique_ptr<Channel> dial(const DialOptions& options);

}  // namespace d9d::net
