#include "messages/decode.hpp"

#include <cstring>

namespace d9d {
namespace {

void require_at_most(std::size_t bytes_max, std::size_t bytes) {
  if (bytes <= bytes_max) return;
  throw Refused(Refused::Reason::too_large, "a message of " + std::to_string(bytes) +
                                                " bytes; the limit is " + std::to_string(bytes_max));
}

capnp::ReaderOptions reader_options(const Frame& frame, const Limits& limits) {
  require_at_most(limits.bytes_max, frame.size_bytes());
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

Frame Frame::from_bytes(std::span<const std::byte> bytes, std::size_t bytes_max) {
  require_at_most(bytes_max, bytes.size());
  if (bytes.empty() || bytes.size() % sizeof(capnp::word) != 0) {
    throw Refused(Refused::Reason::truncated,
                  "a message of " + std::to_string(bytes.size()) + " bytes is no whole number of words");
  }
  std::vector<capnp::word> words(bytes.size() / sizeof(capnp::word));
  std::memcpy(words.data(), bytes.data(), bytes.size());
  Frame frame(std::move(words));
  frame.arrived_ns_ = unstamped;
  return frame;
}

const char* name_of(Refused::Reason reason) {
  constexpr const char* names[] = {"too large",    "cut short",     "malformed",
                                   "unknown type", "another epoch", "repeated"};
  return names[static_cast<int>(reason)];
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
