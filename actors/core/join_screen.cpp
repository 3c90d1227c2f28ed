#include "actors/core/join_screen.hpp"

#include <caf/atom.hpp>
#include <caf/binary_deserializer.hpp>

#include <fmt/format.h>
#include <kj/exception.h>

#include "messages/cluster.capnp.h"
#include "messages/decode.hpp"

namespace d9d {
namespace {

using caf::io::basp::header;
using caf::io::basp::message_type;

// The two message types that may pass, as CAF writes them: ours, and a single atom (a sign of life).
constexpr auto names_service = static_cast<std::uint64_t>(caf::atom("SpawnServ"));
constexpr std::string_view packet_message = "@<>+d9d.packet";
constexpr std::string_view atom_message = "@<>+@atom";

bool is_for_joining(message_type operation) {
  switch (operation) {
    case message_type::client_handshake:
    case message_type::direct_message:
    case message_type::monitor_message:
    case message_type::heartbeat:
      return true;
    default:
      return false;
  }
}

JoinScreen::Trouble trouble_with_message(const void* data, std::size_t bytes) {
  caf::binary_deserializer source(nullptr, static_cast<const char*>(data), bytes);
  std::size_t stages = 0;
  std::uint16_t number = 0;
  std::string types;
  if (source.begin_sequence(stages) || stages != 0 || source.begin_object(number, types))
    return "what it says is not d9d's protocol";
  if (types == packet_message || types == atom_message) return std::nullopt;
  return "it has not joined, and says something else than Join";
}

bool is_join(const Frame& frame) {
  try {
    const Decoded decoded(frame);
    return decoded.type() == capnp::typeId<wire::Join>() &&
           decoded.header().receiver.role == Role::coordinator;
  } catch (const Refused&) {
    return false;
  } catch (const kj::Exception&) {
    return false;
  }
}

}  // namespace

const Arrival*& Arriving::slot() {
  thread_local const Arrival* arrival = nullptr;
  return arrival;
}

JoinScreen::Trouble JoinScreen::trouble_with(const void* data, std::size_t bytes) {
  if (!awaits_payload_) return trouble_with_header(data, bytes);
  awaits_payload_ = false;
  if (header_.operation == message_type::client_handshake) return trouble_with_name(data, bytes);
  // Messages to CAF's own actors pass: they are answers to requests.
  if (header_.operation != message_type::direct_message || header_.dest_actor != published_)
    return std::nullopt;
  return trouble_with_message(data, bytes);
}

// With the name of a known process, CAF would send that process's messages to this connection.
JoinScreen::Trouble JoinScreen::trouble_with_name(const void* data, std::size_t bytes) const {
  caf::binary_deserializer source(nullptr, static_cast<const char*>(data), bytes);
  caf::node_id name;
  if (source(name)) return "what it says is not d9d's protocol";
  if (is_known_(name)) return "it takes the name of a process that is here";
  return std::nullopt;
}

JoinScreen::Trouble JoinScreen::trouble_with_header(const void* data, std::size_t bytes) {
  caf::binary_deserializer source(nullptr, static_cast<const char*>(data), bytes);
  if (source(header_) || source.remaining() != 0) return "what it says is not d9d's protocol";
  awaits_payload_ = header_.payload_len > 0;
  if (header_.payload_len > payload_bytes_max)
    return fmt::format("it has not joined, and begins a message of {} bytes", header_.payload_len);
  if (header_.operation == message_type::down_message) return "";
  // CAF's nodes ask each other for their names by this service, which cannot make actors of ours.
  if (header_.flags == header::named_receiver_flag && header_.dest_actor == names_service)
    return std::nullopt;
  // CAF's client sets this flag in each handshake: it asks the server to use this connection
  // for the client's name.
  const bool shakes_hands =
      header_.operation == message_type::client_handshake && header_.flags == header::select_connection_flag;
  // All other flags ask for other services.
  if (!is_for_joining(header_.operation) || (header_.flags != 0 && !shakes_hands))
    return "it has not joined, and says something else than Join";
  return std::nullopt;
}

bool accept_arrival(Frame& frame, const caf::strong_actor_ptr& attached, const Arrival& arrival) {
  frame.stamp_connection(arrival.connection.number());
  if (arrival.connection.is_member()) return true;
  return is_join(frame) && attached && attached->node() == arrival.peer;
}

}  // namespace d9d
