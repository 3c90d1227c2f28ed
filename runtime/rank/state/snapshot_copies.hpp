#pragma once
// Copies a rank's state to the host for a checkpoint. On a device the copies run on the stream `copy_out`
// into pinned memory, while training continues. The thread that writes the file waits for them; the rank's
// thread does not; the next work that changes the state waits on the device. Call it on the rank's thread.

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
  // Orders later work on the device after the copies, so that memory of the
  // state may be freed and used again.
  ~SnapshotCopies();
  SnapshotCopies(const SnapshotCopies&) = delete;
  SnapshotCopies& operator=(const SnapshotCopies&) = delete;

  struct Copied {
    std::vector<at::Tensor> tensors;  // one per entry, on the host
    Event when;                       // recorded when the tensors have their values
  };
  // Copies the entries as all work that is queued on `compute` leaves them; on the CPU at once. On a device
  // two snapshots use the same memory, unless tensors of the first still exist when the second begins.
  Copied copy(const std::vector<StateEntry>& entries);

  // Call these before work that changes buffers, or any of the state, is queued on `compute`.
  void before_buffers_change();
  void before_state_changes();
  // Returns the pinned memory that is kept between two snapshots to the system.
  void give_memory_back() { memory_.give_back(); }

 private:
  const std::shared_ptr<Device> device_;
  HostStretches memory_;
  Event buffers_, state_;
};

}  // namespace d9d
