#pragma once
// The connection whose bytes a thread turns into messages: the loop of CAF says which, a message that is read notes it.

#include <caf/node_id.hpp>

#include "actors/core/connections.hpp"

namespace d9d {

struct Arrival {
  const Connection& connection;
  caf::node_id peer;  // the process at its other end
};

// Of this thread, as long as the object lives.
class Arriving {
 public:
  explicit Arriving(const Arrival& arrival) { slot() = &arrival; }
  ~Arriving() { slot() = nullptr; }
  Arriving(const Arriving&) = delete;
  Arriving& operator=(const Arriving&) = delete;

  // Null: this thread reads from no connection.
  static const Arrival* now() { return slot(); }

 private:
  static const Arrival*& slot();
};

}  // namespace d9d
