#pragma once
// Long flat tensors, zeroed without touching them: fresh
// pages are zero, and large buffers ask for huge pages.

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace d9d {

inline constexpr std::int64_t alignment_bytes = 64;  // of each tensor in such a buffer

// A 1-D tensor of zeros, aligned to at least alignment_bytes. On devices other than the CPU an ordinary zero tensor.
at::Tensor zeroed_flat_buffer(std::int64_t count, at::ScalarType dtype, at::Device device);

// The tensor keeps its identity and shape, and becomes a view of `part`, a contiguous part of such a buffer; with its
// values, or without reading them.
void move_into(const at::Tensor& part, at::Tensor tensor, bool keep_values);

}  // namespace d9d
