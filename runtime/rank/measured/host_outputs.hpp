#pragma once
// Outputs of the last stage for code that reads their numbers on the host. Needs torch.

#include <cstddef>
#include <limits>

#include "runtime/tensor/tensor_map.hpp"

namespace d9d {

// Detached; copies of what is on a device, which are filled when its current stream gets there (device/host_numbers.hpp).
// A tensor of more bytes stays where it is, and who looks at it waits.
TensorMap host_outputs(const TensorMap& outputs,
                       std::size_t bytes_max = std::numeric_limits<std::size_t>::max());
// For a task's metrics.
inline constexpr std::size_t counted_bytes_max = std::size_t{16} << 20;

}  // namespace d9d
