#include "messages/actor_id.hpp"

namespace d9d {
namespace {

const char* name_of(Role role) {
  switch (role) {
    case Role::none:
      return "none";
    case Role::node:
      return "node";
    case Role::coordinator:
      return "coordinator";
    case Role::event_bus:
      return "event_bus";
    case Role::tracker:
      return "tracker";
    case Role::trace_collector:
      return "trace_collector";
    case Role::checkpoint_writer:
      return "checkpoint_writer";
    case Role::loader:
      return "loader";
    case Role::trainer:
      return "trainer";
    case Role::rank_executor:
      return "rank_executor";
    case Role::metric_collector:
      return "metric_collector";
    case Role::collective:
      return "collective";
    case Role::tensor_lane:
      return "tensor_lane";
    case Role::user:
      return "user";
    case Role::probe:
      return "probe";
    case Role::evaluation_loader:
      return "evaluation_loader";
  }
  return "unknown";
}

}  // namespace

std::string to_string(ActorId id) {
  std::string text = name_of(id.role);
  switch (id.role) {
    case Role::collective:
      return text + "/" + std::to_string(id.index / 256) + "." + std::to_string(id.index % 256);
    case Role::tensor_lane: {
      const std::uint64_t pair = id.index / 2;
      return text + "/" + std::to_string(pair / 65536) + "-" + std::to_string(pair % 65536) +
             (id.index % 2 == 0 ? ".send" : ".receive");
    }
    default:
      return text + "/" + std::to_string(id.index);
  }
}

int rank_of(ActorId id) {
  switch (id.role) {
    case Role::loader:
    case Role::trainer:
    case Role::rank_executor:
    case Role::metric_collector:
      return static_cast<int>(id.index);
    case Role::collective:
      return static_cast<int>(id.index / 256);
    case Role::tensor_lane: {
      const std::uint64_t pair = id.index / 2;
      return static_cast<int>(id.index % 2 == 0 ? pair / 65536 : pair % 65536);
    }
    default:
      return -1;
  }
}

}  // namespace d9d
