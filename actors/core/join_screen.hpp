#pragma once
// What CAF may hear of a connection that has not joined. CAF trusts its peers: it ends an actor, forgets a node or asks
// a service when a stranger says so. Such a connection gets no further than a handshake, signs of life and messages
// of this project, of which accept_arrival() takes Join alone.

#include <caf/io/basp/header.hpp>

#include <cstddef>
#include <functional>
#include <optional>
#include <string>

#include "actors/core/arrival.hpp"

namespace d9d {

struct Packet;

class JoinScreen {
 public:
  static constexpr std::size_t payload_bytes_max = std::size_t{1} << 20;  // a Join has some kilobytes of keys

  // Whether CAF has a connection to a node of this name.
  using IsKnown = std::function<bool(const caf::node_id&)>;

  // `published`: the actor that joiners reach.
  explicit JoinScreen(caf::actor_id published, IsKnown is_known)
      : published_(published), is_known_(std::move(is_known)) {}
  // Takes the pieces that CAF reads: a header, then its payload if it has one. None: CAF may have it. Else the
  // connection is to be closed, and this says why; empty: a process that was refused takes its leave.
  using Trouble = std::optional<std::string>;
  Trouble trouble_with(const void* data, std::size_t bytes);

 private:
  Trouble trouble_with_header(const void* data, std::size_t bytes);

  Trouble trouble_with_name(const void* data, std::size_t bytes) const;

  const caf::actor_id published_;
  const IsKnown is_known_;
  caf::io::basp::header header_{};
  bool awaits_payload_ = false;
};

// Notes in a packet which connection brings it. False: it may not come. A Join has to bring a handle of the process
// that says it, because the answer goes there: with a handle of another one a stranger would speak through node 0.
bool accept_arrival(Packet& packet, const Arrival& arrival);

}  // namespace d9d
