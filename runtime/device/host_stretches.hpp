#pragma once
// Pinned memory of the host, taken again and again for copies of a device that run beside its work. One thread.

#include <ATen/core/Tensor.h>

#include <memory>
#include <vector>

#include "runtime/device/device.hpp"

namespace d9d {

class HostStretches {
 public:
  // Keeps at most so many between uses; `what` is copied: for a warning (host_memory.hpp).
  HostStretches(std::shared_ptr<Device> device, std::size_t kept_max, const char* what)
      : device_(std::move(device)), kept_max_(kept_max), what_(what) {}

  struct Wanted {
    c10::ScalarType dtype;
    at::IntArrayRef shape;
  };
  // Tensors without values, one behind the other in one stretch, each from a multiple of 64 bytes on. A later call takes
  // the stretch again when the last of its tensors is gone: keep them until their copies are done.
  std::vector<at::Tensor> take(const std::vector<Wanted>& wanted);
  // Stretches whose tensors are gone go back to the system now, others with their last tensor.
  void give_back() { kept_.clear(); }

 private:
  at::Tensor stretch_of(std::int64_t bytes);

  const std::shared_ptr<Device> device_;
  const std::size_t kept_max_;
  const char* const what_;
  std::vector<at::Tensor> kept_;  // uint8
};

}  // namespace d9d
