#pragma once
// Opens frames. Bytes from outside are not trusted until they are checked. A reader stays on the
// stack of one thread.

#include <capnp/serialize.h>

#include <stdexcept>
#include <string>

#include "messages/actor_id.hpp"
#include "messages/common.capnp.h"
#include "messages/frame.hpp"

namespace d9d {

// Thrown when a frame is refused. The receiver counts it, logs the first one, and drops the frame.
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
  std::size_t bytes_max = std::size_t{16} << 20;  // of the frame; the largest message is a shard's report
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

// One opened frame. Every access stays within the frame. A hostile pointer throws kj::Exception when it is
// followed; the dispatcher of an actor then refuses the frame as malformed.
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

// Reads only the envelope, for a node that passes the frame on.
Header peek_header(const Frame& frame);

}  // namespace d9d
