#pragma once
// .npy files as tensors on the CPU.

#include <ATen/core/Tensor.h>

#include <filesystem>

namespace d9d {

// Integers become int64, floating point float32; the shape is the file's. Errors as NpyArray.
at::Tensor load_npy(const std::filesystem::path& path);

// int32, int64, float32 and float64 tensors, as they are;
// others are an input error. Copies to CPU and C order first.
void save_npy(const std::filesystem::path& path, const at::Tensor& tensor);

}  // namespace d9d
