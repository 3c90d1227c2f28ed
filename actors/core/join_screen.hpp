#pragma once
// What CAF may hear of a connection that has not joined. CAF trusts its peers: it ends an actor, forgets a node or asks
// a service when a stranger says so. Such a connection gets no further than a handshake, signs of life and messages
// of this project, of which accept_arrival() takes Join alone.

#include <caf/io/basp/header.hpp>

#include <cstddef>
#include <optional>
#include <string>

#include "actors/core/arrival.hpp"

namespace d9d {

struct Packet;

class JoinScreen {
 public:
  static constexpr std::size_t payload_bytes_max = std::size_t{1} << 20;  // a Join has some kilobytes of keys

  // `published`: the actor that joiners reach.
  explicit JoinScreen(caf::actor_id published) : published_(published) {}
  // Takes the pieces that CAF reads: a header, then its payload if it has one. None: CAF may have it. Else the
  // connection is to be closed, and this says why; empty: a process that was refused takes its leave.
  using Trouble = std::optional<std::string>;
  Trouble trouble_with(const void* data, std::size_t bytes);

 private:
  Trouble trouble_with_header(const void* data, std::size_t bytes);

  const caf::actor_id published_;
  caf::io::basp::header header_{};
  bool awaits_payload_ = false;
};

// Notes in a packet which connection brings it. False: it may not come. A Join has to bring a handle of the process
// that says it, because the answer goes there: with a handle of another one a stranger would speak through node 0.
bool accept_arrival(Packet& packet, const Arrival& arrival);

}  // namespace d9d
