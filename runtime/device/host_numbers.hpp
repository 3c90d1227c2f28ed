#pragma once
// Values of a device's tensors for the host, with as few waits as possible.

#include <ATen/core/Tensor.h>

#include <vector>

namespace d9d {

// Returns the value of each tensor. Each must have one element, and all must be on one device. The host
// waits once for all of them.
std::vector<double> host_numbers(const std::vector<at::Tensor>& tensors);
// Returns the elements of an int64 tensor, row by row. The host waits unless it knows
// them (kernels/memory/host_values.hpp).
std::vector<std::int64_t> host_integers(const at::Tensor& tensor);

// Queues a copy to the host on the current stream and returns its target. Read the target after an event of
// that stream, or after finish_copies(). A tensor of the CPU is copied at once.
at::Tensor copy_later(const at::Tensor& tensor);
// Makes the host wait for all work of the device's current stream. Does nothing on the CPU.
void finish_copies(c10::Device device);

}  // namespace d9d
