#include "runtime/task/rank_events.hpp"

#include "runtime/base/error.hpp"
#include "runtime/base/log.hpp"

namespace d9d {

void RankEvents::require_open(const std::string& who, std::string_view event) const {
  D9D_REQUIRE(!event.empty(), "{} subscribes to an event that this job does not have", who);
  D9D_REQUIRE(!closed_, "{} subscribes to {} too late: subscribe in register_events()", who, event);
}

void RankEvents::guarded(const std::string& who, std::string_view event,
                         const std::function<void()>& call) const {
  try {
    call();
  } catch (...) {
    log::warn("{} threw in {} on rank {} and is not heeded: {}", who, event, rank_,
              describe_current_exception().what);
  }
}

}  // namespace d9d
