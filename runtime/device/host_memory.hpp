#pragma once
// Host memory for copies that run beside a device's other work.

#include <ATen/core/Tensor.h>

#include "runtime/device/device.hpp"

namespace d9d {

// Allocates uint8 [bytes] of pinned memory (Device::pinned). If the system has none left, returns
// ordinary memory and logs a warning that names `what` is copied. A GPU's copies to ordinary memory
// make the host wait.
at::Tensor host_memory(Device& device, std::int64_t bytes, const char* what);

}  // namespace d9d
