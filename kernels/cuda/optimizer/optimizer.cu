// AdamW (Loshchilov and Hutter 2019, algorithm 2) in one pass over flat buffers, and sums of squares in a fixed order.
#include "kernels/cuda/optimizer/optimizer.hpp"

#include "kernels/cuda/dispatch.cuh"
#include "kernels/cuda/sums.cuh"

namespace d9d::cuda {
namespace {

constexpr int threads = 256;
// Fixed, so that the order of a sum does not depend on the GPU.
constexpr std::int64_t elements_of_block = std::int64_t{1} << 14;

struct AdamWElement {
  float param, grad, exp_avg, exp_avg_sq;
};

__device__ inline void update(const kernels::AdamWPass& pass, AdamWElement& e) {
  const float g = e.grad * pass.grad_scale;
  e.exp_avg += pass.rest1 * (g - e.exp_avg);
  e.exp_avg_sq = e.exp_avg_sq * pass.beta2 + pass.rest2 * g * g;
  const float denominator = sqrtf(e.exp_avg_sq) / pass.correction + pass.eps;
  e.param = e.param * pass.decay - pass.step_size * (e.exp_avg / denominator);
}

// Four elements a thread, 16 bytes of each buffer; one by one those before the first `head` and those after the last
// four.
__global__ void adamw_kernel(AdamW call, std::int64_t head) {
  const std::int64_t fours = (call.count - head) / 4, step = std::int64_t{gridDim.x} * threads;
  const std::int64_t first = std::int64_t{blockIdx.x} * threads + threadIdx.x;
  auto* const param = reinterpret_cast<float4*>(call.param + head);
  auto* const grad = reinterpret_cast<float4*>(call.grad + head);
  auto* const exp_avg = reinterpret_cast<float4*>(call.exp_avg + head);
  auto* const exp_avg_sq = reinterpret_cast<float4*>(call.exp_avg_sq + head);
  for (std::int64_t i = first; i < fours; i += step) {
    float4 p = param[i], m = exp_avg[i], v = exp_avg_sq[i];
    const float4 g = grad[i];
    AdamWElement e[4] = {
        {p.x, g.x, m.x, v.x}, {p.y, g.y, m.y, v.y}, {p.z, g.z, m.z, v.z}, {p.w, g.w, m.w, v.w}};
#pragma unroll
    for (int k = 0; k < 4; ++k) update(call.pass, e[k]);
    param[i] = {e[0].param, e[1].param, e[2].param, e[3].param};
    exp_avg[i] = {e[0].exp_avg, e[1].exp_avg, e[2].exp_avg, e[3].exp_avg};
    exp_avg_sq[i] = {e[0].exp_avg_sq, e[1].exp_avg_sq, e[2].exp_avg_sq, e[3].exp_avg_sq};
    if (call.pass.zero_grad) grad[i] = {0, 0, 0, 0};
  }
  for (std::int64_t k = first; k < call.count - 4 * fours; k += step) {
    const std::int64_t i = k < head ? k : k + 4 * fours;
    AdamWElement e{call.param[i], call.grad[i], call.exp_avg[i], call.exp_avg_sq[i]};
    update(call.pass, e);
    call.param[i] = e.param;
    call.exp_avg[i] = e.exp_avg;
    call.exp_avg_sq[i] = e.exp_avg_sq;
    if (call.pass.zero_grad) call.grad[i] = 0;
  }
}

// One sum for each block of elements: in fp32 within a thread and a block.
template <class T, int size>
__global__ void squares_kernel(const T* x, std::int64_t count, double* partial) {
  const std::int64_t begin = blockIdx.x * elements_of_block, end = min(begin + elements_of_block, count);
  const std::int64_t end_of_packs = begin + (end - begin) / size * size;
  float sum = 0;
  for (std::int64_t i = begin + threadIdx.x * size; i < end_of_packs; i += threads * size) {
    const Pack<size> pack = load_pack<size>(x + i);
#pragma unroll
    for (int e = 0; e < size; ++e) sum += pack.at[e] * pack.at[e];
  }
  for (std::int64_t i = end_of_packs + threadIdx.x; i < end; i += threads) {
    const float value = load(x, i);
    sum += value * value;
  }
  const float total = over_block<Added, threads>(sum);
  if (threadIdx.x == 0) partial[blockIdx.x] = total;
}

struct ThreadSums;

// The sums of the blocks in fp64, by one block: first those of a thread, then the threads in order.
__global__ void total_kernel(const double* partial, std::int64_t blocks, double* total) {
  double* const sums = shared_array<double, threads, ThreadSums>();
  double sum = 0;
  for (std::int64_t i = threadIdx.x; i < blocks; i += threads) sum += partial[i];
  sums[threadIdx.x] = sum;
  __syncthreads();
  if (threadIdx.x > 0) return;
  for (int thread = 1; thread < threads; ++thread) sum += sums[thread];
  *total = sum;
}

// How many elements stand before the first that all buffers have at a multiple of 16 bytes; all where none is.
std::int64_t head_of(const AdamW& call) {
  const auto behind = [](const float* data) { return reinterpret_cast<std::uintptr_t>(data) % 16; };
  const std::uintptr_t of_param = behind(call.param);
  for (const float* const data : {call.grad, call.exp_avg, call.exp_avg_sq})
    if (behind(data) != of_param) return call.count;
  const auto head = static_cast<std::int64_t>((16 - of_param) % 16 / sizeof(float));
  return head < call.count ? head : call.count;
}

}  // namespace

int adamw(const AdamW& call, CUstream_st* stream) {
  if (call.count == 0) return 0;
  const std::int64_t blocks = (call.count / 4 + threads) / threads;
  constexpr std::int64_t blocks_max = std::int64_t{1} << 16;
  return launch(adamw_kernel, static_cast<unsigned>(blocks < blocks_max ? blocks : blocks_max), threads, 0,
                stream, call, head_of(call));
}

std::int64_t sum_of_squares_partials(std::int64_t count) {
  return (count + elements_of_block - 1) / elements_of_block;
}

int sum_of_squares(const SumOfSquares& call, CUstream_st* stream) {
  const std::int64_t blocks = sum_of_squares_partials(call.count);
  return dispatch(call.type, [&](auto tag) {
    using T = decltype(tag);
    int code = 0;
    if (blocks > 0) {
      code = dispatch_packs<T>(takes_packs<T>(elements_of_block, {{call.x}}), [&](auto size) {
        return launch(squares_kernel<T, size()>, static_cast<unsigned>(blocks), threads, 0, stream,
                      static_cast<const T*>(call.x), call.count, call.partial);
      });
    }
    return code != 0 ? code : launch(total_kernel, 1, threads, 0, stream, call.partial, blocks, call.total);
  });
}

}  // namespace d9d::cuda
