#pragma once
// The connection whose bytes a thread is turning into messages. CAF's loop sets it before it reads, and
// each message notes it while it is decoded.

#include <caf/node_id.hpp>

#include "actors/core/connections.hpp"

namespace d9d {

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

}  // namespace d9d
