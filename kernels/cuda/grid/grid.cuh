#pragma once
// What kernels ask of a grid besides CUDA's own words. The tests compile the same kernels against another file of this
// name, tests/kernels/cuda/emulated/grid.cuh, which is a grid on the host.

#include <cuda_bf16.h>

#include <cstddef>

namespace d9d::cuda {

// kernel<<<grid, threads, shared_bytes, stream>>>(arguments...). A cudaError_t, 0 for success.
template <class... Parameters, class... Arguments>
int launch(void (*kernel)(Parameters...), dim3 grid, unsigned threads, std::size_t shared_bytes,
           CUstream_st* stream, const Arguments&... arguments) {
  kernel<<<grid, threads, shared_bytes, stream>>>(arguments...);
  return static_cast<int>(cudaGetLastError());
}

// `count` elements that the threads of a block share. Arrays of one type and size are told apart by their Name.
template <class T, int count, class Name>
__device__ inline T* shared_array() {
  __shared__ T data[count];
  return data;
}

// The shared_bytes of the launch, at a multiple of 16 bytes.
__device__ inline void* dynamic_shared() {
  extern __shared__ uint4 d9d_dynamic_shared[];
  return d9d_dynamic_shared;
}

}  // namespace d9d::cuda
