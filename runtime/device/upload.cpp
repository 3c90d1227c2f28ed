#include "runtime/device/upload.hpp"

#include "kernels/host_values.hpp"

namespace d9d {

at::Tensor upload(const at::Tensor& tensor, const Device& device) {
  if (tensor.device() == device.place()) return tensor;
  const at::Tensor here = tensor.contiguous();
  const at::Tensor there = here.to(device.place());
  if (!here.is_floating_point()) kernels::keep_host_values(there, here);
  return there;
}

}  // namespace d9d
