#pragma once
// Sums and maxima over a warp or a block, always in one order: lanes by halves, then the warps one after the other.

#include "kernels/cuda/elements.cuh"

namespace d9d::cuda {

struct Added {
  static __device__ float of(float a, float b) { return a + b; }
};
struct Largest {
  static __device__ float of(float a, float b) { return a > b ? a : b; }
};

// Over groups of `lanes` neighbours, a power of two; on all of them.
template <class How, int lanes = 32>
__device__ inline float over_lanes(float value) {
#pragma unroll
  for (int step = lanes / 2; step > 0; step /= 2)
    value = How::of(value, __shfl_xor_sync(0xffffffffU, value, step));
  return value;
}

// Over the block, on all threads.
template <class How, int threads>
__device__ inline float over_block(float value) {
  float* const warps = shared_array<float, threads / 32, How>();
  value = over_lanes<How>(value);
  __syncthreads();  // the result before may still be read
  if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = value;
  __syncthreads();
  float total = warps[0];
#pragma unroll
  for (int warp = 1; warp < threads / 32; ++warp) total = How::of(total, warps[warp]);
  return total;
}

// Over `team` threads: groups of lanes of a warp, or the whole block.
template <int team, int threads>
__device__ inline float team_sum(float value) {
  if constexpr (team == threads) return over_block<Added, threads>(value);
  return over_lanes<Added, team>(value);
}

}  // namespace d9d::cuda
