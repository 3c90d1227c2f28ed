#pragma once
// CAF over the gate: every connection between actors is made by runtime/net, which knows TLS, tells a stranger from
// a node and bears a flood; CAF gets it when both sides have proved themselves.

#include <caf/actor_system.hpp>
#include <caf/expected.hpp>
#include <caf/io/middleman_actor.hpp>

#include <chrono>
#include <memory>
#include <string>

#include "actors/core/connections.hpp"
#include "runtime/net/gate.hpp"

namespace d9d {

class CafGate {
 public:
  // Both outlive it. Of a system that has loaded the middleman.
  CafGate(caf::actor_system& system, net::Gate& gate, Connections& connections);
  ~CafGate();

  // Environment error when the gate cannot listen there. Returns the port.
  std::uint16_t publish(const caf::strong_actor_ptr& actor, const std::string& host, std::uint16_t port);
  // Blocks until the connection stands. Environment error that says why it does not; a net::StrangerError where the
  // two processes do not know the same secret.
  caf::strong_actor_ptr remote_actor(const std::string& host, std::uint16_t port);

 private:
  caf::actor_system& system_;
  net::Gate& gate_;
  caf::io::middleman_actor manager_;
};

}  // namespace d9d
