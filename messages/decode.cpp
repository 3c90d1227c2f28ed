#include "messages/decode.hpp"

namespace d9d {
namespace {

capnp::ReaderOptions reader_options(const Frame& frame, const Limits& limits) {
  if (frame.size_bytes() > limits.bytes_max) {
    throw Refused(Refused::Reason::too_large, "a message of " + std::to_string(frame.size_bytes()) +
                                                  " bytes; the limit is " + std::to_string(limits.bytes_max));
  }
  capnp::ReaderOptions options;
  // A reader may look at each word a few times; a crafted
  // message that makes it look far more often is cut off.
  options.traversalLimitInWords = 8 * (frame.size_bytes() / sizeof(capnp::word)) + 64;
  options.nestingLimit = limits.nesting_max;
  return options;
}

kj::ArrayPtr<const capnp::word> words_of(const Frame& frame) {
  if (frame.empty()) throw Refused(Refused::Reason::truncated, "an empty message");
  const kj::ArrayPtr<const capnp::word> words(frame.data(), frame.size_bytes() / sizeof(capnp::word));
  if (const std::size_t whole = capnp::expectedSizeInWordsFromPrefix(words); whole > words.size()) {
    throw Refused(Refused::Reason::truncated, std::to_string(words.size()) + " words of a message of " +
                                                  std::to_string(whole) + " words");
  }
  return words;
}

Header header_of(wire::Envelope::Reader envelope) {
  return {envelope.getEpoch(),
          ActorId::from_packed(envelope.getSender()),
          ActorId::from_packed(envelope.getReceiver()),
          envelope.getSequence(),
          envelope.getSendTime(),
          envelope.getFlow()};
}

}  // namespace

const char* name_of(Refused::Reason reason) {
  switch (reason) {
    case Refused::Reason::too_large:
      return "too large";
    case Refused::Reason::truncated:
      return "cut short";
    case Refused::Reason::malformed:
      return "malformed";
    case Refused::Reason::unknown_type:
      return "unknown type";
    case Refused::Reason::wrong_epoch:
      return "another epoch";
    case Refused::Reason::repeated:
      return "repeated";
  }
  return "unknown";
}

Decoded::Decoded(const Frame& frame, const Limits& limits) try
    : reader_(words_of(frame), reader_options(frame, limits)), envelope_(reader_.getRoot<wire::Envelope>()) {
} catch (const kj::Exception& error) {
  throw Refused(Refused::Reason::malformed, error.getDescription().cStr());
}

Header Decoded::header() const {
  return header_of(envelope_);
}

Header peek_header(const Frame& frame) {
  return Decoded(frame, {.bytes_max = frame.size_bytes()}).header();
}

}  // namespace d9d
