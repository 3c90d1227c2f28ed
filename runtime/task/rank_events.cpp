#include "runtime/task/rank_events.hpp"

#include "runtime/base/error.hpp"
#include "runtime/base/log.hpp"

namespace d9d {

void RankEvents::require_open(const std::string& who, std::string_view event) const {
  D9D_REQUIRE(!event.empty(), "{} subscribes to an event that this job does not have", who);
  D9D_REQUIRE(!closed_, "{} subscribes to {} too late: subscribe in register_events()", who, event);
}

void RankEvents::guarded(const std::string& who, std::string_view event, OnThrow on_throw,
                         const std::function<void()>& call) const {
  try {
    call();
  } catch (...) {
    const Caught caught = describe_current_exception();
    if (on_throw == OnThrow::ends_job) {
      const ErrorKind kind = caught.kind == ErrorKind::bug ? ErrorKind::environment : caught.kind;
      throw Error(kind, fmt::format("{} threw in {} on rank {}: {}", who, event, rank_, caught.what));
    }
    log::warn("{} threw in {} on rank {} and is not heeded: {}", who, event, rank_, caught.what);
  }
}

void RankEvents::end_job(std::string who, std::string reason) const {
  const std::lock_guard lock(mutex_);
  if (end_wanted_.empty()) end_wanted_ = fmt::format("{} on rank {}: {}", who, rank_, reason);
}

std::string RankEvents::take_end() const {
  const std::lock_guard lock(mutex_);
  return std::exchange(end_wanted_, {});
}

}  // namespace d9d
