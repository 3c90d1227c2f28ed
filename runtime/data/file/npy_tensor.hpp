#pragma once
// .npy files as tensors on the CPU.

#include <ATen/core/Tensor.h>

#include <filesystem>

namespace d9d {

// Loads an array in the file's shape: integers as int64, floating point as
// float32. Errors as NpyArray.
at::Tensor load_npy(const std::filesystem::path& path);

}  // namespace d9d
