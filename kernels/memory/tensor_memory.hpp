#pragma once
// The memory of the CPU tensors of a process. No torch in this header.

#include <cstdint>
#include <functional>

namespace d9d::kernels {

// Keeps the memory of freed tensors for the next ones, up to a quarter of the machine's memory, on huge
// pages if the system has them. Large blocks of malloc are returned to the system when they are freed.
// main calls this once, before the first tensor.
// Returns a function that tells the peak bytes of all tensors of 64 KiB and more since then, without the
// flat buffers of parameters, gradients and optimizer state.
std::function<std::uint64_t()> keep_tensor_memory();

}  // namespace d9d::kernels
