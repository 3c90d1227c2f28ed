#include "runtime/device/upload.hpp"

#include "kernels/memory/host_values.hpp"

namespace d9d {

at::Tensor upload(const at::Tensor& tensor, const Device& device) {
  if (tensor.device() == device.place()) return tensor;
  const at::Tensor here = tensor.contiguous();
  // Memory that nobody writes, and that is kept until the copy has run: torch does that for pinned memory, and a
  // delayed device for any.
  const at::Tensor sent = device.place().is_cuda() ? here.pin_memory() : here.clone();
  const at::Tensor there = sent.to(device.place(), /*non_blocking=*/true);
  if (!here.is_floating_point()) kernels::keep_host_values(there, here);
  return there;
}

}  // namespace d9d
