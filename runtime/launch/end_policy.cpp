#include "runtime/launch/end_policy.hpp"

#include <algorithm>

namespace d9d {
namespace {

constexpr int bad_input = 2;
// The job's input is at fault: it has not begun, or all of its processes know already.
constexpr std::chrono::nanoseconds grace_of_bad_input = std::chrono::seconds(3);
constexpr std::chrono::nanoseconds last_seconds = std::chrono::seconds(5);

}  // namespace

void EndPolicy::ended(int code, std::int64_t now_ns) {
  if (code == 0 || code_ != 0) return;
  code_ = code;
  const auto grace = code == bad_input ? std::min(grace_of_bad_input, grace_) : grace_;
  terminate_ns_ = now_ns + grace.count();
  kill_by(*terminate_ns_ + last_seconds.count());
}

void EndPolicy::asked_to_end(std::int64_t deadline_ns) {
  kill_by(deadline_ns + last_seconds.count());
}

void EndPolicy::kill_by(std::int64_t time_ns) {
  kill_ns_ = std::min(kill_ns_.value_or(time_ns), time_ns);
}

Push EndPolicy::due(std::int64_t now_ns) {
  if (kill_ns_ && now_ns >= *kill_ns_) {
    kill_ns_.reset();
    terminate_ns_.reset();
    return Push::kill;
  }
  if (!terminate_ns_ || now_ns < *terminate_ns_) return Push::none;
  terminate_ns_.reset();
  return Push::terminate;
}

std::optional<std::int64_t> EndPolicy::deadline_ns() const {
  if (!terminate_ns_) return kill_ns_;
  return std::min(*terminate_ns_, kill_ns_.value_or(*terminate_ns_));
}

}  // namespace d9d
