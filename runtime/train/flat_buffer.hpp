#pragma once
// Long flat tensors, zeroed without touching them: fresh
// pages are zero, and large buffers ask for huge pages.

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace d9d {

// A 1-D tensor of zeros, aligned to at least 64 bytes. On devices other than the CPU an ordinary zero tensor.
at::Tensor zeroed_flat_buffer(std::int64_t count, at::ScalarType dtype, at::Device device);

}  // namespace d9d
