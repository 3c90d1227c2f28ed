// Values are found as on the CPU, so that bytes and scales are the same. A thread block works on a block.
#include "kernels/cuda/optimizer/block_quantization.hpp"

#include "kernels/cuda/sums.cuh"

namespace d9d::cuda {
namespace {

constexpr int threads = 128;
constexpr std::int64_t blocks_max = std::int64_t{1} << 16;
struct Above;
struct Below;
struct Values;

// The index of the nearest value: of the first middle that is not smaller.
__device__ inline int index_of(const float* middle, int size, float magnitude) {
  int begin = 0, end = size - 1;
  while (begin < end) {
    const int half = (begin + end) / 2;
    if (magnitude > middle[half]) {
      begin = half + 1;
    } else {
      end = half;
    }
  }
  return begin;
}

// f(block, begin, end) of the blocks of the thread block.
template <class F>
__device__ inline void for_blocks(const BlocksOfBytes& call, F&& f) {
  const std::int64_t blocks = (call.count + call.block - 1) / call.block;
  for (std::int64_t i = blockIdx.x; i < blocks; i += gridDim.x)
    f(i, i * call.block, min((i + 1) * call.block, call.count));
}

__global__ void __launch_bounds__(threads) quantize_kernel(BlocksOfBytes call) {
  float* const above = shared_array<float, 256, Above>();
  float* const below = shared_array<float, 256, Below>();
  for (int i = static_cast<int>(threadIdx.x); i < 256; i += threads) {
    above[i] = call.tables.above.middle[i];
    below[i] = call.tables.below.middle[i];
  }
  __syncthreads();
  for_blocks(call, [&](std::int64_t block, std::int64_t begin, std::int64_t end) {
    float largest = 0;
    for (std::int64_t i = begin + threadIdx.x; i < end; i += threads)
      largest = fmaxf(largest, fabsf(call.x[i]));
    largest = over_block<Largest, threads>(largest);
    if (largest < kernels::smallest_block_scale) largest = 0;
    if (threadIdx.x == 0) call.scales[block] = largest;
    for (std::int64_t i = begin + threadIdx.x; i < end; i += threads) {
      const float value = call.x[i], magnitude = largest > 0 ? fabsf(value) / largest : 0.0F;
      int code = value < 0 ? -index_of(below, call.tables.below.size, magnitude)
                           : index_of(above, call.tables.above.size, magnitude);
      if (call.positive && code == 0 && largest > 0 && value > 0) code = 1;
      call.codes[i] = static_cast<std::uint8_t>(code);
    }
  });
}

__global__ void __launch_bounds__(threads) dequantize_kernel(BlocksOfBytes call) {
  float* const values = shared_array<float, 256, Values>();
  for (int i = static_cast<int>(threadIdx.x); i < 256; i += threads) values[i] = call.tables.value[i];
  __syncthreads();
  for_blocks(call, [&](std::int64_t block, std::int64_t begin, std::int64_t end) {
    const float scale = call.scales[block];
    for (std::int64_t i = begin + threadIdx.x; i < end; i += threads)
      call.x[i] = values[call.codes[i]] * scale;
  });
}

unsigned grid_of(const BlocksOfBytes& call) {
  const std::int64_t blocks = (call.count + call.block - 1) / call.block;
  return static_cast<unsigned>(blocks < blocks_max ? blocks : blocks_max);
}

}  // namespace

int quantize_blocks(const BlocksOfBytes& call, CUstream_st* stream) {
  return call.count == 0 ? 0 : launch(quantize_kernel, grid_of(call), threads, 0, stream, call);
}

int dequantize_blocks(const BlocksOfBytes& call, CUstream_st* stream) {
  return call.count == 0 ? 0 : launch(dequantize_kernel, grid_of(call), threads, 0, stream, call);
}

}  // namespace d9d::cuda
