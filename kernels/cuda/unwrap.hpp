#pragma once
// From tensors to what the functions of launch.hpp take.

#include <ATen/core/Tensor.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>

#include "kernels/cuda/launch.hpp"

namespace d9d::cuda {

inline ElementType type_of(const at::Tensor& tensor) {
  const bool is_float = tensor.scalar_type() == at::kFloat;
  TORCH_CHECK(is_float || tensor.scalar_type() == at::kBFloat16,
              "the CUDA kernels of d9d take float32 and bfloat16, got ", tensor.scalar_type());
  return is_float ? ElementType::float32 : ElementType::bfloat16;
}

inline CUstream_st* current_stream(const at::Tensor& tensor) {
  return c10::cuda::getCurrentCUDAStream(tensor.device().index()).stream();
}

inline void check_launch(int code, const char* op) {
  TORCH_CHECK(code == 0, op, ": CUDA error ", code);
}

}  // namespace d9d::cuda
