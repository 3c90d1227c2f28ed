#pragma once
// What the headers of kernels share: the kernels are plain functions over raw device pointers, sizes and a stream,
// without torch and CUDA's headers. The .cu files implement them. All return a cudaError_t as int, 0 for success.

#include <cstdint>

struct CUstream_st;

namespace d9d::cuda {

enum class ElementType { float32, bfloat16 };

// Rows of `width` elements, `stride` apart; elements of a row are neighbours. Null: there are none.
struct ConstRows {
  const void* data = nullptr;
  std::int64_t stride = 0;
};

}  // namespace d9d::cuda
