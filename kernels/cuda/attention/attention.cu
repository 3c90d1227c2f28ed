#include "kernels/cuda/attention/attention.hpp"

#include "kernels/cuda/dispatch.cuh"

namespace d9d::cuda {
namespace {

constexpr int threads = 256, warps = threads / 32;
constexpr std::int64_t blocks_max = std::int64_t{1} << 16;

__device__ inline float* at(const HeadsOut& x, std::int64_t batch, std::int64_t token, std::int64_t head) {
  return x.data + batch * x.batch_stride + token * x.token_stride + head * x.head_stride;
}
__device__ inline float* at(const HeadsLse& x, std::int64_t batch, std::int64_t token, std::int64_t head) {
  return x.data + batch * x.batch_stride + head * x.head_stride + token * x.token_stride;
}

// A warp for each head of each token.
template <int size>
__global__ void __launch_bounds__(threads) merge_kernel(MergeBlocks call) {
  const int lane = threadIdx.x % 32;
  const std::int64_t rows = call.batch * call.length * call.heads;
  for (std::int64_t row = std::int64_t{blockIdx.x} * warps + threadIdx.x / 32; row < rows;
       row += std::int64_t{gridDim.x} * warps) {
    const std::int64_t token_row = row / call.heads, head = row - token_row * call.heads;
    const std::int64_t batch = token_row / call.length, token = token_row - batch * call.length;
    float* const lse = at(call.lse, batch, token, head);
    const float known = *lse, theirs = *at(call.block_lse, batch, token, head);
    // -infinity: the query saw no key. Of two such blocks the difference is NaN, and theirs adds nothing.
    const float difference = theirs == -INFINITY ? theirs : theirs - known;
    __syncwarp();  // all lanes have read it
    if (lane == 0) {
      const float top = known == -INFINITY ? theirs : known + fmaxf(difference, 0.0F);
      *lse = top + log1pf(expf(-fabsf(difference)));
    }
    const float share = 1.0F / (1.0F + expf(-difference));
    float* const out = at(call.out, batch, token, head);
    const float* const block = at(call.block_out, batch, token, head);
    for (std::int64_t i = lane * size; i < call.dim; i += 32 * size) {
      Pack<size> y = load_pack<size>(out + i);
      const Pack<size> x = load_pack<size>(block + i);
#pragma unroll
      for (int e = 0; e < size; ++e) y.at[e] += share * (x.at[e] - y.at[e]);
      store_pack<size>(out + i, y);
    }
  }
}

}  // namespace

int merge_blocks(const MergeBlocks& call, CUstream_st* stream) {
  const std::int64_t rows = call.batch * call.length * call.heads, blocks = (rows + warps - 1) / warps;
  if (rows == 0) return 0;
  bool packs = true;
  for (const HeadsOut& x : {call.out, call.block_out})
    for (const std::int64_t stride : {x.batch_stride, x.token_stride, x.head_stride})
      packs = packs && takes_packs<float>(call.dim, {{x.data, stride}});
  return dispatch_packs<float>(packs, [&](auto size) {
    return launch(merge_kernel<size()>, static_cast<unsigned>(blocks < blocks_max ? blocks : blocks_max),
                  threads, 0, stream, call);
  });
}

}  // namespace d9d::cuda
