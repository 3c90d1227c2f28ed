#pragma once
// Where the CPU tensors of a process get their memory. No torch in this header.

#include <cstdint>
#include <functional>

namespace d9d {

// From now on memory of freed tensors is kept for the next ones, up to a quarter of the machine's, on huge
// pages where the system gives them. To be called by main, once, before the first tensor.
// What it returns tells the most bytes that tensors of 64 KiB and more have had at once since, without the
// flat buffers of parameters, their gradients and the optimizer's state.
std::function<std::uint64_t()> keep_tensor_memory();

}  // namespace d9d
