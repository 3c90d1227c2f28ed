#pragma once
// The one C++ type that CAF carries between actors: a frame, and optionally the handle of an actor.

#include <caf/actor.hpp>
#include <caf/meta/load_callback.hpp>
#include <caf/meta/type_name.hpp>
#include <caf/sec.hpp>

#include <cstring>
#include <vector>

#include "actors/core/join_screen.hpp"
#include "actors/core/tsan_order.hpp"
#include "messages/decode.hpp"

namespace d9d {

struct Packet {
  Frame frame;
  caf::strong_actor_ptr attached;
};

// Largest frame taken off a connection; checked again per message type by the dispatcher.
inline constexpr std::size_t wire_bytes_max = std::size_t{64} << 20;

template <class Inspector>
typename Inspector::result_type inspect(Inspector& f, Packet& packet) {
  std::vector<char> bytes;
  if constexpr (Inspector::reads_state) {
    const auto view = packet.frame.bytes();
    bytes.resize(view.size());
    if (!view.empty()) std::memcpy(bytes.data(), view.data(), view.size());
  }
  auto load = [&]() -> caf::error {
    try {
      packet.frame = Frame::from_bytes(std::as_bytes(std::span(bytes)), wire_bytes_max);
      const Arrival* const arrival = Arriving::now();
      if (arrival != nullptr && !accept_arrival(packet.frame, packet.attached, *arrival))
        return caf::sec::invalid_argument;
      tsan_release(packet.frame.data());
      return caf::none;
    } catch (const Refused&) {
      return caf::sec::invalid_argument;
    }
  };
  return f(caf::meta::type_name("d9d.packet"), bytes, packet.attached, caf::meta::load_callback(load));
}

}  // namespace d9d
