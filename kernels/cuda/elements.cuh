#pragma once
// Loading, storing and summing elements. Arithmetic is in fp32 whatever the element type.

#include <cuda_bf16.h>

#include <cstdint>

#include "kernels/cuda/launch.hpp"

namespace d9d::cuda {

using Bf16 = __nv_bfloat16;

template <class T>
__device__ inline float load(const T* data, std::int64_t i) {
  return static_cast<float>(data[i]);
}
template <class T>
__device__ inline void store(T* data, std::int64_t i, float value) {
  data[i] = static_cast<T>(value);
}
// As it would be after a trip through memory.
template <class T>
__device__ inline float rounded(float value) {
  return static_cast<float>(static_cast<T>(value));
}

// A row of `rows`; null when there are none.
template <class T>
__device__ inline const T* row_of(const ConstRows& rows, std::int64_t row) {
  return rows.data ? static_cast<const T*>(rows.data) + row * rows.stride : nullptr;
}

// The sum over the block, on all threads. Always the same
// order: shuffles within warps, then the warps in order.
template <int threads>
__device__ inline float block_sum(float value) {
  __shared__ float warps[threads / 32];
#pragma unroll
  for (int step = 16; step > 0; step /= 2) value += __shfl_xor_sync(0xffffffffU, value, step);
  __syncthreads();  // the sum before may still be read
  if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = value;
  __syncthreads();
  float total = 0;
#pragma unroll
  for (int warp = 0; warp < threads / 32; ++warp) total += warps[warp];
  return total;
}

// f(T{}) with the type of the elements.
template <class F>
int dispatch(ElementType type, F&& f) {
  return type == ElementType::float32 ? f(float{}) : f(Bf16{});
}

}  // namespace d9d::cuda
