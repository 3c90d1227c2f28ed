#include "runtime/device/upload.hpp"

#include "kernels/memory/host_values.hpp"

namespace d9d {

at::Tensor upload(const at::Tensor& tensor, const Device& device) {
  if (tensor.device() == device.place()) return tensor;
  const at::Tensor here = tensor.contiguous();
  // For a GPU, torch keeps the pinned memory alive until the copy has run. For a delayed device nothing
  // does, so its copy is made while the host waits.
  const bool pinned = device.place().is_cuda();
  const at::Tensor there = (pinned ? here.pin_memory() : here).to(device.place(), /*non_blocking=*/pinned);
  if (!here.is_floating_point()) kernels::keep_host_values(there, here);
  return there;
}

}  // namespace d9d
