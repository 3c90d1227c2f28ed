#pragma once
// The copies of a rank's state on the host that a checkpoint is written from. On a device they run beside training, on the
// stream `copy_out` into pinned memory: the host that writes the file waits for them, the rank's does not, and what
// changes the state next waits on the device. The rank's thread.

#include <ATen/core/Tensor.h>

#include <memory>
#include <vector>

#include "runtime/device/device.hpp"
#include "runtime/device/host_stretches.hpp"
#include "runtime/train/optimizer/optimizer.hpp"

namespace d9d {

class SnapshotCopies {
 public:
  explicit SnapshotCopies(std::shared_ptr<Device> device)
      : device_(std::move(device)), memory_(device_, 1, "a snapshot") {}
  // The state's memory, if it is freed next, is not used again before it has been copied.
  ~SnapshotCopies();
  SnapshotCopies(const SnapshotCopies&) = delete;
  SnapshotCopies& operator=(const SnapshotCopies&) = delete;

  struct Copied {
    std::vector<at::Tensor> tensors;  // of the entries, on the host
    Event when;                       // by which they have their values
  };
  // As the stream `compute` leaves them now; on the CPU at once. On a device two snapshots have the same memory, unless
  // tensors of the first are held while the second begins.
  Copied copy(const std::vector<StateEntry>& entries);

  // What `compute` is given next may change buffers, or any of the state.
  void before_buffers_change();
  void before_state_changes();
  // The host's memory between two snapshots goes back to the system.
  void give_memory_back() { memory_.give_back(); }

 private:
  const std::shared_ptr<Device> device_;
  HostStretches memory_;
  Event buffers_, state_;
};

}  // namespace d9d
