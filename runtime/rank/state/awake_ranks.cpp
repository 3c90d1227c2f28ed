#include "runtime/rank/state/awake_ranks.hpp"

#include <algorithm>
#include <utility>

#include "runtime/device/device.hpp"

namespace d9d {

void AwakeRanks::add() {
  const std::lock_guard lock(mutex_);
  ++ranks_;
}

// Does not ask whether the rank slept: all ranks of a process end together, so the
// count only has to stay in bounds.
void AwakeRanks::remove() {
  const std::lock_guard lock(mutex_);
  --ranks_;
  asleep_ = std::min(asleep_, ranks_);
}

void AwakeRanks::fall_asleep(const std::set<Device*>& devices) {
  const std::lock_guard lock(mutex_);
  devices_.insert(devices.begin(), devices.end());
  if (++asleep_ < ranks_) return;
  for (Device* const device : std::exchange(devices_, {})) device->trim();
}

void AwakeRanks::wake() {
  const std::lock_guard lock(mutex_);
  --asleep_;
}

bool AwakeRanks::all_sleep() {
  const std::lock_guard lock(mutex_);
  return ranks_ > 0 && asleep_ == ranks_;
}

}  // namespace d9d
