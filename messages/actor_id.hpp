#pragma once
// The address of an actor: a role and an index. It is the same on every node; the address
// book knows the node.

#include <boost/describe/enum.hpp>

#include <compare>
#include <cstdint>
#include <string>

namespace d9d {

enum class Role : std::uint16_t {
  none,
  node,               // index: node
  coordinator,        // index: 0
  event_bus,          // index: 0
  tracker,            // index: 0
  trace_collector,    // index: node
  checkpoint_writer,  // index: node
  loader,             // index: global rank
  trainer,            // index: global rank
  rank_executor,      // index: global rank
  metric_collector,   // index: global rank
  collective,         // index: global rank * 256 + group on that rank
  tensor_lane,        // index: (sending rank * 65536 + receiving rank) * 2 + (0 sender, 1 receiver)
  user,               // index: place in the job file's list
  probe,              // tests
  evaluation_loader,  // index: global rank
};
BOOST_DESCRIBE_ENUM(Role, none, node, coordinator, event_bus, tracker, trace_collector, checkpoint_writer,
                    loader, trainer, rank_executor, metric_collector, collective, tensor_lane, user, probe,
                    evaluation_loader)

struct ActorId {
  Role role = Role::none;
  std::uint64_t index = 0;  // below 2^48

  auto operator<=>(const ActorId&) const = default;
  std::uint64_t packed() const { return std::uint64_t{static_cast<std::uint16_t>(role)} << 48 | index; }
  static ActorId from_packed(std::uint64_t packed) {
    return {static_cast<Role>(packed >> 48), packed & 0xFFFFFFFFFFFFULL};
  }
};

// The two ends of the lane on which tensors go from one rank to another in a different process.
enum class LaneEnd : std::uint8_t { sender = 0, receiver = 1 };
inline ActorId lane_id(int sending_rank, int receiving_rank, LaneEnd end) {
  return {
      Role::tensor_lane,
      (static_cast<std::uint64_t>(sending_rank) * 65536 + static_cast<std::uint64_t>(receiving_rank)) * 2 +
          static_cast<std::uint64_t>(end)};
}
inline ActorId collective_id(int rank, int group) {
  return {Role::collective, static_cast<std::uint64_t>(rank) * 256 + static_cast<std::uint64_t>(group)};
}

// "rank_executor/2"
std::string to_string(ActorId id);
// The global rank an actor works for, -1 when it serves a node or the job.
int rank_of(ActorId id);

}  // namespace d9d
