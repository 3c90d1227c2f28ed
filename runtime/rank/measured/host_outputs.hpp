#pragma once
// Outputs of the last stage for code that reads their numbers on the host. Needs torch.

#include <cstddef>
#include <limits>

#include "runtime/tensor/tensor_map.hpp"

namespace d9d {

// Returns detached tensors on the host. Copies from a device are filled when its current stream reaches them
// (device/host_numbers.hpp). A tensor of more than `bytes_max` bytes stays on the device; reading it waits.
TensorMap host_outputs(const TensorMap& outputs,
                       std::size_t bytes_max = std::numeric_limits<std::size_t>::max());
// The limit for a task's metrics.
inline constexpr std::size_t counted_bytes_max = std::size_t{16} << 20;

}  // namespace d9d
