#include "runtime/rank/snapshot_copies.hpp"

#include <c10/core/GradMode.h>

#include <utility>

#include "runtime/base/log.hpp"
#include "runtime/device/host_memory.hpp"
#include "runtime/device/work_name.hpp"
#include "runtime/state/manifest.hpp"

namespace d9d {
namespace {

constexpr std::int64_t alignment = 64;

std::int64_t bytes_of(const StateEntry& entry) {
  const auto bytes = static_cast<std::int64_t>(entry.tensor.numel() * entry.tensor.element_size());
  return (bytes + alignment - 1) / alignment * alignment;
}

}  // namespace

SnapshotCopies::~SnapshotCopies() {
  try {
    before_state_changes();
  } catch (const std::exception& error) {
    log::warn("a snapshot: {}", error.what());
  }
}

// One stretch behind the other.
std::vector<at::Tensor> SnapshotCopies::places_of(const std::vector<StateEntry>& entries) {
  std::int64_t wanted = 0;
  for (const StateEntry& entry : entries) wanted += bytes_of(entry);
  const bool is_free = memory_.defined() && memory_.storage().use_count() == 1;
  if (!is_free || memory_.numel() < wanted) {
    memory_.reset();  // before there is more
    memory_ = host_memory(*device_, wanted, "a snapshot");
  }
  std::vector<at::Tensor> places;
  std::int64_t begin = 0;
  for (const StateEntry& entry : entries) {
    const auto bytes = static_cast<std::int64_t>(entry.tensor.numel() * entry.tensor.element_size());
    places.push_back(
        memory_.narrow(0, begin, bytes).view(entry.tensor.scalar_type()).view(entry.tensor.sizes()));
    begin += bytes_of(entry);
  }
  return places;
}

// Buffers are the first to change, in the next forward.
SnapshotCopies::Copied SnapshotCopies::copy(const std::vector<StateEntry>& entries) {
  Copied copied;
  if (device_->is_cpu()) {
    for (const StateEntry& entry : entries) copied.tensors.push_back(saved_values(entry));
    return copied;
  }
  const c10::NoGradGuard no_grad;
  const WorkName work("a snapshot");
  copied.tensors = places_of(entries);
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
  buffers_ = {};  // they are copied first
  device_->wait(StreamRole::compute, std::exchange(state_, {}));
}

}  // namespace d9d
