#pragma once
// From tensors to what kernels take.

#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>
#include <c10/core/DeviceGuard.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "kernels/cuda/launch.hpp"
#include "kernels/rows.hpp"

namespace d9d::cuda {

inline ElementType type_of(const at::Tensor& tensor) {
  const bool is_float = tensor.scalar_type() == at::kFloat;
  TORCH_CHECK(is_float || tensor.scalar_type() == at::kBFloat16,
              "the CUDA kernels of d9d take float32 and bfloat16, got ", tensor.scalar_type());
  return is_float ? ElementType::float32 : ElementType::bfloat16;
}

// Of a matrix with dense rows; null for an undefined tensor.
inline ConstRows rows_of(const at::Tensor& matrix) {
  if (!matrix.defined()) return {};
  return {matrix.const_data_ptr(), matrix.stride(0)};
}

inline at::Tensor maybe_rows(const at::Tensor& tensor) {
  return tensor.defined() ? kernels::as_rows(tensor) : tensor;
}

inline at::Tensor maybe_contiguous(const at::Tensor& tensor) {
  return tensor.defined() ? tensor.contiguous() : tensor;
}

// Null for an undefined tensor.
template <class T = void>
T* data_of(const at::Tensor& tensor) {
  return tensor.defined() ? static_cast<T*>(tensor.data_ptr()) : nullptr;
}

// Whether the tensor's memory can be read in packs of 16 bytes from its first element on.
inline bool begins_at_a_pack(const at::Tensor& tensor) {
  return reinterpret_cast<std::uintptr_t>(tensor.const_data_ptr()) % 16 == 0;
}

// A copy on the device of integers that the host made. The host waits where its memory is not pinned.
template <class Integer>
at::Tensor uploaded(const std::vector<Integer>& values, c10::Device device) {
  const auto count = static_cast<int64_t>(values.size());
  const auto options = at::TensorOptions(c10::CppTypeToScalarType<Integer>::value);
  const at::Tensor here = at::empty({count}, options.pinned_memory(device.is_cuda()));
  std::copy(values.begin(), values.end(), here.mutable_data_ptr<Integer>());
  return at::empty({count}, options.device(device)).copy_(here, /*non_blocking=*/true);
}

// The stream that is current on the tensor's device.
CUstream_st* stream_of(const at::Tensor& tensor);

// What CUDA says of an error.
const char* error_text(int code);

// A launch tells of errors of kernels before it, too.
inline void check_launch(int code, const char* op) {
  TORCH_CHECK(code == 0, op, ": CUDA error ", code, ", ", error_text(code),
              "; it may be of work before this op: debug.synchronous_device names the action");
}

}  // namespace d9d::cuda
