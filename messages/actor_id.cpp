#include "messages/actor_id.hpp"

#include <boost/describe/enum_to_string.hpp>

namespace d9d {

std::string to_string(ActorId id) {
  std::string text = boost::describe::enum_to_string(id.role, "unknown");
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
