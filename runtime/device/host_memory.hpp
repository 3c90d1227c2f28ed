#pragma once
// Memory of the host for copies of a device that run beside its work.

#include <ATen/core/Tensor.h>

#include "runtime/device/device.hpp"

namespace d9d {

// uint8 [bytes], pinned (Device::pinned). Where the system has no such memory to give any other, with a warning that
// names `what` is copied: then the host waits for copies on a GPU.
at::Tensor host_memory(Device& device, std::int64_t bytes, const char* what);

}  // namespace d9d
