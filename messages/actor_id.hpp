#pragma once
// The address of an actor: a role and an index. The same on every node; the address book knows where it lives.

#include <compare>
#include <cstdint>
#include <string>

namespace d9d {

enum class Role : std::uint16_t {
  none,
  node,              // index: node
  coordinator,       // index: 0
  event_bus,         // index: 0
  tracker,           // index: 0
  trace_collector,   // index: node
  checkpoint_writer, // index: node
  loader,            // index: global rank it serves first
  trainer,           // index: global rank
  stage,             // index: global rank
  metric_collector,  // index: global rank
  collective,        // index: global rank * 256 + group on that rank
  tensor_lane,       // index: (sending rank * 65536 + receiving rank) * 2 + (0 sender, 1 receiver)
  user,              // index: place in the job file's list
  probe,             // tests
};

struct ActorId {
  Role role = Role::none;
  std::uint64_t index = 0;  // below 2^48

  auto operator<=>(const ActorId&) const = default;
  std::uint64_t packed() const { return std::uint64_t{static_cast<std::uint16_t>(role)} << 48 | index; }
  static ActorId from_packed(std::uint64_t packed) {
    return {static_cast<Role>(packed >> 48), packed & 0xFFFFFFFFFFFFULL};
  }
};

// "stage/2"
std::string to_string(ActorId id);

}  // namespace d9d
