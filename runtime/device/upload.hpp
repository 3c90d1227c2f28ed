#pragma once
// Tensors on their way from the host to a device.

#include <ATen/core/Tensor.h>

#include "runtime/device/device.hpp"

namespace d9d {

// The tensor as it is on the device; the host does not wait, and goes on knowing integers (kernels/memory/host_values.hpp).
// A tensor that is there already comes back as it is.
at::Tensor upload(const at::Tensor& tensor, const Device& device);

}  // namespace d9d
