#pragma once
// Reading a frame: what comes from outside is untrusted
// until checked. A reader lives on the stack of one thread.

#include <capnp/serialize.h>

#include <optional>
#include <stdexcept>
#include <string>

#include "messages/actor_id.hpp"
#include "messages/common.capnp.h"
#include "messages/frame.hpp"

namespace d9d {

// Why a frame was not accepted; counted by reason, logged once, dropped.
class Refused : public std::runtime_error {
 public:
  enum class Reason { too_large, truncated, malformed, unknown_type, wrong_epoch, repeated };
  Refused(Reason reason, const std::string& what) : std::runtime_error(what), reason_(reason) {}
  Reason reason() const { return reason_; }

 private:
  Reason reason_;
};
const char* name_of(Refused::Reason reason);

struct Limits {
  std::size_t bytes_max = std::size_t{16} << 20;  // of the frame; the largest is a shard's report
  int nesting_max = 16;                           // pointers deep
};

struct Header {
  std::uint32_t epoch = 0;
  ActorId sender;
  ActorId receiver;
  std::uint64_t sequence = 0;
  std::int64_t send_time_ns = 0;
  std::uint64_t flow = 0;
};

// One frame, opened. Every access stays within the frame; a hostile pointer throws kj::Exception when it is
// followed, which the dispatcher of an actor turns into a refusal as malformed.
class Decoded {
 public:
  explicit Decoded(const Frame& frame, const Limits& limits = {});  // `frame` outlives it
  explicit Decoded(Frame&& frame, const Limits& limits = {}) = delete;

  Header header() const;
  std::uint64_t type() const { return envelope_.getType(); }
  template <class T>
  typename T::Reader body() const {
    return envelope_.getBody().template getAs<T>();
  }

 private:
  capnp::FlatArrayMessageReader reader_;
  wire::Envelope::Reader envelope_;
};

// Only the envelope: for a node that passes the frame on.
Header peek_header(const Frame& frame);

}  // namespace d9d
