#pragma once
// Long flat tensors of zeros whose pages are not touched: fresh pages of the system are zero.
// Large buffers ask for huge pages.

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace d9d {

inline constexpr std::int64_t alignment_bytes = 64;  // of each tensor in such a buffer

// Makes a 1-D tensor of zeros, aligned to at least alignment_bytes. On a device it
// is an ordinary tensor of zeros.
at::Tensor zeroed_flat_buffer(std::int64_t count, at::ScalarType dtype, at::Device device);

// Makes `tensor` a view of `part`, a contiguous part of such a buffer. The tensor object and its shape stay
// the same. Copies its values if `keep_values`, else does not read them.
void move_into(const at::Tensor& part, at::Tensor tensor, bool keep_values);

}  // namespace d9d
