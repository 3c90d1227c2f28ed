#include "actors/core/peer_words.hpp"

#include <caf/exit_reason.hpp>
#include <caf/sec.hpp>

#include <fmt/format.h>

namespace d9d {

std::string why_gone(const caf::error& reason, std::chrono::nanoseconds silent,
                     std::chrono::nanoseconds patience) {
  if (reason == caf::exit_reason::remote_link_unreachable) {
    if (silent > patience / 2) {
      return fmt::format(
          "gave no sign of life for {:.3g} s (ten times node.heartbeat_ms: raise it on all nodes where a "
          "pause "
          "of that length is no failure); its process hangs or is stopped, or the network between is broken",
          std::chrono::duration<double>(patience).count());
    }
    return "closed the connection; its process ended or was killed, its own log may say why";
  }
  if (!reason || reason == caf::exit_reason::normal) return "has ended";
  return "failed; its own log says why";
}

std::string why_unreachable(const caf::error& reason) {
  if (reason == caf::sec::cannot_connect_to_node) return "nothing accepts connections there";
  if (reason == caf::sec::disconnect_during_handshake) return "it closed the connection during the handshake";
  if (reason == caf::sec::connection_timeout) return "it does not answer";
  if (reason == caf::sec::no_actor_published_at_port ||
      reason == caf::sec::unexpected_actor_messaging_interface) {
    return "what listens there is no d9d-node";
  }
  return "what listens there does not speak as a d9d-node of this version";
}

}  // namespace d9d
