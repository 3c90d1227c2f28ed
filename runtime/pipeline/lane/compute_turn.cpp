#include "runtime/pipeline/lane/compute_turn.hpp"

#include "runtime/base/error.hpp"

namespace d9d {

void ComputeTurn::start() {
  const std::lock_guard lock(mutex_);
  D9D_CHECK(!running_[0] && !running_[1], "two lanes start before the two before are at their end");
  running_ = {true, true};
  owner_ = 0;
}

void ComputeTurn::take(int lane) {
  std::unique_lock lock(mutex_);
  passed_.wait(lock, [&] { return owner_ == lane; });
}

void ComputeTurn::give(int lane) {
  const std::lock_guard lock(mutex_);
  pass_on(lane);
}

void ComputeTurn::finish(int lane) {
  const std::lock_guard lock(mutex_);
  running_[static_cast<std::size_t>(lane)] = false;
  pass_on(lane);
}

void ComputeTurn::pass_on(int lane) {
  D9D_CHECK(owner_ == lane, "lane {} gives away a turn that lane {} has", lane, owner_);
  const int other = 1 - lane;
  // A lane that has ended never gives the turn back, so this lane keeps it.
  if (!running_[static_cast<std::size_t>(other)]) return;
  owner_ = other;
  passed_.notify_one();
}

}  // namespace d9d
