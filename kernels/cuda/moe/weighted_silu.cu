#include "kernels/cuda/moe/weighted_silu.hpp"

#include "kernels/cuda/activations.cuh"
#include "kernels/cuda/dispatch.cuh"
#include "kernels/cuda/sums.cuh"

namespace d9d::cuda {
namespace {

constexpr int threads = 256, warps = threads / 32;
constexpr std::int64_t blocks_max = std::int64_t{1} << 16;

// A warp for each row.
template <class T, int size>
__global__ void __launch_bounds__(threads) backward_kernel(WeightedSilu call) {
  for (std::int64_t row = std::int64_t{blockIdx.x} * warps + threadIdx.x / 32; row < call.rows;
       row += std::int64_t{gridDim.x} * warps) {
    const float scale = call.scale[row];
    float dot = 0;
    for (std::int64_t i = threadIdx.x % 32 * size; i < call.width; i += 32 * size) {
      const std::int64_t at = row * call.width + i;
      const Pack<size> grad = load_pack<size>(static_cast<const T*>(call.grad) + at);
      Pack<size> gate = load_pack<size>(static_cast<const T*>(call.gate) + at);
      Pack<size> up = load_pack<size>(static_cast<const T*>(call.up) + at), weighted;
#pragma unroll
      for (int e = 0; e < size; ++e) {
        const float s = sigmoid<T>(gate.at[e]), silu = gate.at[e] * s, hidden = rounded<T>(silu) * up.at[e];
        dot += grad.at[e] * hidden;
        weighted.at[e] = scale * hidden;
        gate.at[e] = scale * grad.at[e] * up.at[e] * (s + silu * (1.0F - s));
        up.at[e] = scale * grad.at[e] * rounded<T>(silu);
      }
      store_pack<size>(static_cast<T*>(call.weighted) + at, weighted);
      store_pack<size>(static_cast<T*>(call.d_gate) + at, gate);
      store_pack<size>(static_cast<T*>(call.d_up) + at, up);
    }
    dot = over_lanes<Added>(dot);
    if (threadIdx.x % 32 == 0) call.d_scale[row] = dot;
  }
}

}  // namespace

int weighted_silu_backward(const WeightedSilu& call, CUstream_st* stream) {
  const std::int64_t blocks = (call.rows + warps - 1) / warps;
  if (blocks == 0) return 0;
  return dispatch(call.type, [&](auto tag) {
    using T = decltype(tag);
    const bool packs = takes_packs<T>(call.width, {{call.grad, call.width}, {call.gate}, {call.up}});
    return dispatch_packs<T>(packs, [&](auto size) {
      return launch(backward_kernel<T, size()>,
                    static_cast<unsigned>(blocks < blocks_max ? blocks : blocks_max), threads, 0, stream,
                    call);
    });
  });
}

}  // namespace d9d::cuda
