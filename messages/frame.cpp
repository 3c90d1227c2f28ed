#include "messages/frame.hpp"

#include <cstring>

#include "messages/decode.hpp"

namespace d9d {

Frame Frame::from_bytes(std::span<const std::byte> bytes, std::size_t bytes_max) {
  if (bytes.size() > bytes_max) {
    throw Refused(Refused::Reason::too_large, "a message of " + std::to_string(bytes.size()) +
                                                  " bytes; the limit is " + std::to_string(bytes_max));
  }
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

std::span<const std::byte> Frame::bytes() const {
  return {reinterpret_cast<const std::byte*>(data()), size_bytes()};
}

}  // namespace d9d
