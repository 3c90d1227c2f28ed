#pragma once
// Pinned host memory that is used again and again, for copies that run beside a
// device's work. Not thread-safe.

#include <ATen/core/Tensor.h>

#include <memory>
#include <vector>

#include "runtime/device/device.hpp"

namespace d9d {

class HostStretches {
 public:
  // Keeps at most `kept_max` stretches between uses. `what` is named in the warning of host_memory.hpp.
  HostStretches(std::shared_ptr<Device> device, std::size_t kept_max, const char* what)
      : device_(std::move(device)), kept_max_(kept_max), what_(what) {}

  struct Wanted {
    c10::ScalarType dtype;
    at::IntArrayRef shape;
  };
  // Returns uninitialised tensors in one stretch of memory, each at a multiple of 64 bytes. Keep them until
  // their copies are done: when the last of them is gone, a later call may use the stretch again.
  std::vector<at::Tensor> take(const std::vector<Wanted>& wanted);
  // Frees the stretches whose tensors are gone. The others are freed with their last tensor.
  void give_back() { kept_.clear(); }

 private:
  at::Tensor stretch_of(std::int64_t bytes);

  const std::shared_ptr<Device> device_;
  const std::size_t kept_max_;
  const char* const what_;
  std::vector<at::Tensor> kept_;  // uint8
};

}  // namespace d9d
