#pragma once
// Filters the bytes that reach CAF from a connection that has not joined. CAF trusts its peers: it ends
// an actor, forgets a node or calls a service when a stranger asks for it. Before it has joined, a
// connection may only send a handshake, signs of life and messages of this project, and of these
// accept_arrival() accepts only Join.

#include <caf/actor_control_block.hpp>
#include <caf/io/basp/header.hpp>
#include <caf/node_id.hpp>

#include <cstddef>
#include <functional>
#include <optional>
#include <string>

#include "actors/core/connections.hpp"
#include "messages/frame.hpp"

namespace d9d {

// The connection whose bytes a thread is turning into messages. CAF's loop sets it before it reads, and
// each message notes it while it is decoded.
struct Arrival {
  const Connection& connection;
  caf::node_id peer;  // the process at its other end
};

// Sets the arrival of this thread while the object lives.
class Arriving {
 public:
  explicit Arriving(const Arrival& arrival) { slot() = &arrival; }
  ~Arriving() { slot() = nullptr; }
  Arriving(const Arriving&) = delete;
  Arriving& operator=(const Arriving&) = delete;

  // The arrival of this thread; null: it reads from no connection.
  static const Arrival* now() { return slot(); }

 private:
  static const Arrival*& slot();
};

class JoinScreen {
 public:
  static constexpr std::size_t payload_bytes_max = std::size_t{1} << 20;  // a Join has some kilobytes of keys

  // True when CAF has a connection to a node of this name.
  using IsKnown = std::function<bool(const caf::node_id&)>;

  // `published`: the one actor that a joining process may send to.
  explicit JoinScreen(caf::actor_id published, IsKnown is_known)
      : published_(published), is_known_(std::move(is_known)) {}
  // Checks the pieces that CAF reads, in order: a header, then its payload if it has one. None:
  // CAF may read the piece. Otherwise close the connection; the text says why, and is empty when
  // a refused process leaves.
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

// Notes in a frame the connection that brings it, with the handle `attached`. False: both are refused. A Join must
// carry a handle of the process that sends it, because the answer goes to that handle. With the handle of another
// process, a stranger could make node 0 send messages to it.
bool accept_arrival(Frame& frame, const caf::strong_actor_ptr& attached, const Arrival& arrival);

}  // namespace d9d
