#pragma once
// .npy files as tensors on the CPU.

#include <ATen/core/Tensor.h>

#include <filesystem>

namespace d9d {

// Integers become int64, floating point float32; the shape is the file's. Errors as NpyArray.
at::Tensor load_npy(const std::filesystem::path& path);

}  // namespace d9d
