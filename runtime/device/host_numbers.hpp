#pragma once
// What the host needs to see of a device's tensors, with few waits.

#include <ATen/core/Tensor.h>

#include <vector>

namespace d9d {

// One for each tensor of one element, all on one device; the host waits once for all of them.
std::vector<double> host_numbers(const std::vector<at::Tensor>& tensors);
// The elements of an int64 tensor, row by row. The host waits where it does not know them (kernels/memory/host_values.hpp).
std::vector<std::int64_t> host_integers(const at::Tensor& tensor);

// A copy on the host that is filled when the current stream gets there: read it behind an event of that stream, or
// behind finish_copies(). Of a tensor of the CPU a copy, too.
at::Tensor copy_later(const at::Tensor& tensor);
// The host waits for what the current stream of the device has to do. On the CPU there is nothing to wait for.
void finish_copies(c10::Device device);

}  // namespace d9d
