#pragma once
// Sends tensors from the host to a device.

#include <ATen/core/Tensor.h>

#include "runtime/device/device.hpp"

namespace d9d {

// Returns a copy of the tensor on the device. The host does not wait, and it still knows the values of
// integer tensors (kernels/memory/host_values.hpp). Returns the tensor itself if it is on the device already.
at::Tensor upload(const at::Tensor& tensor, const Device& device);

}  // namespace d9d
