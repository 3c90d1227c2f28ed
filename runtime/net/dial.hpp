#pragma once
// The dialling side of a connection: reach the gate of a node, prove who we are, say what for.

#include <memory>
#include <string>

#include "runtime/net/channel.hpp"
#include "runtime/net/hello.hpp"

namespace d9d::net {

struct DialOptions {
  std::string host;
  std::uint16_t port = 0;
  const Tls* tls = nullptr;  // null: plain
  Hello hello;
  Deadline deadline;
  int cancel = -1;  // readable: give up
};

// Waits for the answer of the other side. Environment error that says what went wrong, without the address.
std::unique_ptr<Channel> dial(const DialOptions& options);

}  // namespace d9d::net
