#pragma once
// Where the CPU tensors of a process get their memory. No torch in this header.

#include <cstdint>
#include <functional>

namespace d9d::kernels {

// Keeps the memory of freed tensors for the next ones, up to a quarter of the machine's memory, on huge pages
// where the system gives them; large blocks of malloc go back to the system when they are freed. main calls it once,
// before the first tensor. The function that it returns tells the most bytes that tensors of 64 KiB and more have had
// at once since, without the flat buffers of parameters, their gradients and the optimizer's state.
std::function<std::uint64_t()> keep_tensor_memory();

}  // namespace d9d::kernels
