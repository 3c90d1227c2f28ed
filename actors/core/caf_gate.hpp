#pragma once
// Connects CAF to the gate. runtime/net makes every connection between actors: it does TLS, tells strangers
// from nodes and withstands floods. CAF gets a connection only when both sides have proved who they are.

#include <caf/actor_system.hpp>
#include <caf/expected.hpp>
#include <caf/io/middleman_actor.hpp>

#include <string>

#include "actors/core/connections.hpp"
#include "runtime/net/gate.hpp"

namespace d9d {

class CafGate {
 public:
  // `gate` and `connections` outlive this object. `system` has loaded CAF's middleman.
  CafGate(caf::actor_system& system, net::Gate& gate, Connections& connections);
  ~CafGate();

  // Listens on `host` and `port` for messages to `actor`. Returns the port. Environment error when the
  // gate cannot listen there.
  std::uint16_t publish(const caf::strong_actor_ptr& actor, const std::string& host, std::uint16_t port);
  // Connects, and blocks until the connection is open. Environment error with the reason when it cannot; a
  // net::StrangerError when the two processes do not know the same secret.
  caf::strong_actor_ptr remote_actor(const std::string& host, std::uint16_t port);

 private:
  caf::actor_system& system_;
  net::Gate& gate_;
  caf::io::middleman_actor manager_;
};

}  // namespace d9d
