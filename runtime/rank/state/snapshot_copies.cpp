#include "runtime/rank/state/snapshot_copies.hpp"

#include <c10/core/GradMode.h>

#include <utility>

#include "runtime/base/log.hpp"
#include "runtime/device/work_name.hpp"
#include "runtime/state/checkpoint/manifest.hpp"

namespace d9d {
SnapshotCopies::~SnapshotCopies() {
  try {
    before_state_changes();
  } catch (const std::exception& error) {
    log::warn("cannot wait for the copies of a snapshot: {}", error.what());
  }
}

// Copies buffers first, because the next forward already changes them; parameters wait for the next update.
SnapshotCopies::Copied SnapshotCopies::copy(const std::vector<StateEntry>& entries) {
  Copied copied;
  if (device_->is_cpu()) {
    for (const StateEntry& entry : entries) copied.tensors.push_back(saved_values(entry));
    return copied;
  }
  const c10::NoGradGuard no_grad;
  const WorkName work("a snapshot");
  std::vector<HostStretches::Wanted> wanted;
  for (const StateEntry& entry : entries)
    wanted.push_back({entry.tensor.scalar_type(), entry.tensor.sizes()});
  copied.tensors = memory_.take(wanted);
  device_->wait(StreamRole::copy_out, device_->record(StreamRole::compute));
  const StreamScope stream(*device_, StreamRole::copy_out);
  const auto copy_those = [&](bool buffers) {
    for (std::size_t i = 0; i < entries.size(); ++i) {
      const StateEntry& entry = entries[i];
      if ((entry.kind == buffer_kind) != buffers) continue;
      copied.tensors[i].copy_(entry.packed ? saved_values(entry) : entry.tensor, /*non_blocking=*/true);
    }
    return device_->record();
  };
  buffers_ = copy_those(true);
  state_ = copied.when = copy_those(false);
  return copied;
}

void SnapshotCopies::before_buffers_change() {
  device_->wait(StreamRole::compute, std::exchange(buffers_, {}));
}

void SnapshotCopies::before_state_changes() {
  buffers_ = {};  // copied before the state, so the wait below covers them
  device_->wait(StreamRole::compute, std::exchange(state_, {}));
}

}  // namespace d9d
