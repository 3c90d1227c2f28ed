#pragma once
// Where the CPU tensors of a process get their memory. No torch in this header.

namespace d9d {

// From now on memory of freed tensors is kept for the next ones, up to a quarter of the machine's, on huge
// pages where the system gives them. To be called by main, once, before the first tensor.
void keep_tensor_memory();

}  // namespace d9d
