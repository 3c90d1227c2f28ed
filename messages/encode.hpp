#pragma once
// Builds frames: envelope and body in one flat array.

#include <capnp/message.h>
#include <capnp/serialize.h>

#include <utility>

#include "messages/common.capnp.h"
#include "messages/decode.hpp"
#include "messages/frame.hpp"

namespace d9d {

// Starts an envelope in `message` and fills everything but the body.
wire::Envelope::Builder start_envelope(capnp::MessageBuilder& message, const Header& header,
                                       std::uint64_t type);
Frame finish(capnp::MessageBuilder& message);

// fill(T::Builder) writes the body.
template <class T, class Fill>
Frame encode(const Header& header, Fill&& fill) {
  // Most messages fit; the scratch space avoids the allocation
  // of a first segment. Cap'n Proto wants it zeroed.
  capnp::word scratch[128] = {};
  capnp::MallocMessageBuilder message(kj::ArrayPtr<capnp::word>(scratch, 128));
  auto envelope = start_envelope(message, header, capnp::typeId<T>());
  std::forward<Fill>(fill)(envelope.getBody().template initAs<T>());
  return finish(message);
}

}  // namespace d9d
