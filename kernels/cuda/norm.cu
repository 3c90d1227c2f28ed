// A warp works on a row where it can keep it in registers, else a block; each row is read once. The weight's gradient
// is summed in two passes, so that its order does not depend on scheduling.
#include "kernels/cuda/norm.hpp"

#include "kernels/cuda/column_sums.hpp"
#include "kernels/cuda/dispatch.cuh"
#include "kernels/cuda/sums.cuh"

namespace d9d::cuda {
namespace {

constexpr int threads = 256;
constexpr int kept_max = 4;  // packs of a row, by each thread in registers
constexpr std::int64_t blocks_max = std::int64_t{1} << 16;
// Each leaves a row of partial sums of the weight's gradient. Not by the GPU, so that no sum's order is.
constexpr std::int64_t backward_blocks_max = 512;
struct WarpSums;

// The packs of a row that a thread of its team works on: f(k, i) for the `kept` that it keeps, k being a constant, then
// f(-1, i) for the others of a long row.
template <int team, int kept, class F>
__device__ inline void for_packs(std::int64_t packs, F&& f) {
  const int lane = static_cast<int>(threadIdx.x) % team;
#pragma unroll
  for (int k = 0; k < kept; ++k) {
    const std::int64_t i = lane + k * team;
    if (i < packs) f(k, i);
  }
  if constexpr (team == threads && kept == kept_max)
    for (std::int64_t i = lane + kept * team; i < packs; i += team) f(-1, i);
}

// f(row) for the rows of the thread's team.
template <int team, class F>
__device__ inline void for_rows(std::int64_t rows, F&& f) {
  constexpr int teams = threads / team;
  const std::int64_t first = std::int64_t{blockIdx.x} * teams + threadIdx.x / team;
  for (std::int64_t row = first; row < rows; row += std::int64_t{gridDim.x} * teams) f(row);
}

// `centers`: a LayerNorm.
template <class T, int size, int team, int kept_packs, bool centers>
__global__ void __launch_bounds__(threads) rms_norm_kernel(RmsNorm call) {
  const std::int64_t packs = call.width / size;
  for_rows<team>(call.rows, [&](std::int64_t row) {
    const T* x = row_of<T>(call.x, row);
    const T* residual = row_of<T>(call.residual, row);
    T* const sum = residual ? static_cast<T*>(call.sum) + row * call.width : nullptr;
    Words<size, T> kept[kept_packs];
    float sums = 0;  // of squares, or of the row
    for_packs<team, kept_packs>(packs, [&](int k, std::int64_t i) {
      Words<size, T> words = load_words<size>(x + i * size);
      Pack<size> pack = unpacked(words);
      if (residual) {
        const Pack<size> other = load_pack<size>(residual + i * size);
#pragma unroll
        for (int e = 0; e < size; ++e) pack.at[e] += other.at[e];
        words = packed<T>(pack);
        pack = unpacked(words);
        store_words<size>(sum + i * size, words);
      }
#pragma unroll
      for (int e = 0; e < size; ++e) sums += centers ? pack.at[e] : pack.at[e] * pack.at[e];
      if (k >= 0) kept[k] = words;
    });
    const T* const normed = residual ? sum : x;
    float mean = team_sum<team, threads>(sums) / static_cast<float>(call.width), middle = 0;
    if constexpr (centers) {
      middle = mean;
      float squares = 0;
      for_packs<team, kept_packs>(packs, [&](int k, std::int64_t i) {
        const Pack<size> pack = unpacked(k >= 0 ? kept[k] : load_words<size>(normed + i * size));
#pragma unroll
        for (int e = 0; e < size; ++e) squares += (pack.at[e] - middle) * (pack.at[e] - middle);
      });
      mean = team_sum<team, threads>(squares) / static_cast<float>(call.width);
    }
    const float inverse = 1.0F / sqrtf(mean + call.eps);
    T* const y = static_cast<T*>(call.y) + row * call.width;
    for_packs<team, kept_packs>(packs, [&](int k, std::int64_t i) {
      Pack<size> pack = unpacked(k >= 0 ? kept[k] : load_words<size>(normed + i * size));
      const Pack<size> weight = load_pack<size>(static_cast<const T*>(call.weight) + i * size);
#pragma unroll
      for (int e = 0; e < size; ++e) {
        if constexpr (centers) {
          pack.at[e] = (pack.at[e] - middle) * inverse * weight.at[e];
        } else {
          pack.at[e] = pack.at[e] * inverse * (weight.at[e] + call.offset);
        }
      }
      store_pack<size>(y + i * size, pack);
    });
    if (threadIdx.x % team == 0) {
      call.inverse[row] = inverse;
      if constexpr (centers) call.mean[row] = middle;
    }
  });
}

// A pack of a row of what backward reads.
template <class T, int size>
struct RowPack {
  Words<size, T> dy, x, extra;
  __device__ void load(const RmsNormBackward& call, std::int64_t row, std::int64_t i) {
    dy = load_words<size>(row_of<T>(call.dy, row) + i * size);
    x = load_words<size>(row_of<T>(call.x, row) + i * size);
    if (call.extra.data) extra = load_words<size>(row_of<T>(call.extra, row) + i * size);
  }
};

// The sums that threads of a block have of their packs, to the block's row of `partial`.
template <int size, int team, int kept_packs>
__device__ inline void store_sums(const Pack<size> (&sums)[kept_packs], std::int64_t width, float* partial) {
  const std::int64_t packs = width / size;
  if constexpr (team == threads) {
    for_packs<team, kept_packs>(packs, [&](int k, std::int64_t i) {
      if (k >= 0) store_pack<size>(partial + i * size, sums[k]);
    });
  } else {
    // Those of all warps, element by element, so that neighbours write to neighbours; then the warps in order.
    constexpr int all = kept_packs * size * team;
    float* const shared = shared_array<float, threads / team * all, WarpSums>();
    const int lane = threadIdx.x % team, warp = threadIdx.x / team;
#pragma unroll
    for (int k = 0; k < kept_packs; ++k)
#pragma unroll
      for (int e = 0; e < size; ++e) shared[warp * all + (k * size + e) * team + lane] = sums[k].at[e];
    __syncthreads();
    for (int at = static_cast<int>(threadIdx.x); at < all; at += threads) {
      const std::int64_t pack = at / (team * size) * team + at % team;
      if (pack >= packs) continue;
      float sum = 0;
      for (int other = 0; other < threads / team; ++other) sum += shared[other * all + at];
      partial[pack * size + at / team % size] = sum;
    }
  }
}

// Also without a weight's gradient to write the few sums are made: less than another kernel for it.
template <class T, int size, int team, int kept_packs, bool centers>
__global__ void __launch_bounds__(threads) backward_kernel(RmsNormBackward call) {
  const std::int64_t packs = call.width / size;
  float* const partial = call.partial ? call.partial + blockIdx.x * call.width : nullptr;
  Pack<size> sums[kept_packs] = {};
  for_rows<team>(call.rows, [&](std::int64_t row) {
    const bool first = row == blockIdx.x;  // of a block that is a team
    const float inverse = call.inverse[row];
    const float middle = centers ? call.mean[row] : 0.0F;
    RowPack<T, size> kept[kept_packs];
    float dot = 0, total = 0;
    for_packs<team, kept_packs>(packs, [&](int k, std::int64_t i) {
      RowPack<T, size> in;
      in.load(call, row, i);
      const Pack<size> weight = load_pack<size>(static_cast<const T*>(call.weight) + i * size);
      const Pack<size> dy = unpacked(in.dy), x = unpacked(in.x);
      Pack<size> sum{};
      if (k >= 0) {
        sum = sums[k];
      } else if (partial && !first) {
        sum = load_pack<size>(partial + i * size);
      }
#pragma unroll
      for (int e = 0; e < size; ++e) {
        const float product = dy.at[e] * (centers ? x.at[e] - middle : x.at[e]);
        dot += product * (weight.at[e] + call.offset);
        if constexpr (centers) total += dy.at[e] * weight.at[e];
        sum.at[e] += product * inverse;
      }
      if (k >= 0) {
        sums[k] = sum;
        kept[k] = in;
      } else if (partial) {
        store_pack<size>(partial + i * size, sum);
      }
    });
    const float mean = team_sum<team, threads>(dot) / static_cast<float>(call.width);
    const float back = mean * inverse * inverse;
    float level = 0;
    if constexpr (centers) level = team_sum<team, threads>(total) / static_cast<float>(call.width);
    T* const dx = static_cast<T*>(call.dx) + row * call.width;
    for_packs<team, kept_packs>(packs, [&](int k, std::int64_t i) {
      RowPack<T, size> in;
      k >= 0 ? void(in = kept[k]) : in.load(call, row, i);
      const Pack<size> weight = load_pack<size>(static_cast<const T*>(call.weight) + i * size);
      const Pack<size> dy = unpacked(in.dy), x = unpacked(in.x);
      Pack<size> result{};
      if (call.extra.data) result = unpacked(in.extra);
#pragma unroll
      for (int e = 0; e < size; ++e) {
        if constexpr (centers) {
          result.at[e] += inverse * (dy.at[e] * weight.at[e] - level - (x.at[e] - middle) * back);
        } else {
          result.at[e] += inverse * (dy.at[e] * (weight.at[e] + call.offset) - x.at[e] * back);
        }
      }
      store_pack<size>(dx + i * size, result);
    });
  });
  if (partial) store_sums<size, team>(sums, call.width, partial);
}

// f(T, size, team, kept packs) as constants, by the width of the rows.
template <class F>
int dispatch_rows(ElementType type, std::int64_t width, std::initializer_list<ConstRows> rows, F&& f) {
  return dispatch(type, [&](auto tag) {
    using T = decltype(tag);
    return dispatch_packs<T>(takes_packs<T>(width, rows), [&](auto size) {
      const auto with_team = [&](auto team) {
        const std::int64_t kept = (width / size + team - 1) / team;
        if constexpr (size() > 1) {
          if (kept == 1) return f(tag, size, team, std::integral_constant<int, 1>{});
          if (kept == 2) return f(tag, size, team, std::integral_constant<int, 2>{});
        }
        return f(tag, size, team, std::integral_constant<int, kept_max>{});
      };
      return width / size <= 32 * kept_max ? with_team(std::integral_constant<int, 32>{})
                                           : with_team(std::integral_constant<int, threads>{});
    });
  });
}

unsigned blocks_for(std::int64_t rows, int team, std::int64_t most) {
  const std::int64_t teams = threads / team, blocks = (rows + teams - 1) / teams;
  return static_cast<unsigned>(blocks < most ? blocks : most);
}

// f(kernel, blocks)
template <class F>
int dispatch_backward(const RmsNormBackward& call, F&& f) {
  if (call.rows == 0 || call.width == 0) return 0;
  const std::initializer_list<ConstRows> rows = {call.dy, call.x, call.extra, {call.weight}, {call.dx}};
  return dispatch_rows(call.type, call.width, rows, [&](auto tag, auto size, auto team, auto kept) {
    const unsigned blocks = blocks_for(call.rows, team, backward_blocks_max);
    return call.mean ? f(backward_kernel<decltype(tag), size(), team(), kept(), true>, blocks)
                     : f(backward_kernel<decltype(tag), size(), team(), kept(), false>, blocks);
  });
}

}  // namespace

int rms_norm(const RmsNorm& call, CUstream_st* stream) {
  if (call.rows == 0 || call.width == 0) return 0;
  const std::initializer_list<ConstRows> rows = {call.x, call.residual, {call.weight}, {call.sum}, {call.y}};
  return dispatch_rows(call.type, call.width, rows, [&](auto tag, auto size, auto team, auto kept) {
    const unsigned blocks = blocks_for(call.rows, team, blocks_max);
    return call.mean ? launch(rms_norm_kernel<decltype(tag), size(), team(), kept(), true>, blocks, threads,
                              0, stream, call)
                     : launch(rms_norm_kernel<decltype(tag), size(), team(), kept(), false>, blocks, threads,
                              0, stream, call);
  });
}

std::int64_t rms_norm_partials(const RmsNormBackward& call) {
  return dispatch_backward(call, [](auto, unsigned blocks) { return static_cast<int>(blocks); });
}

int rms_norm_backward(const RmsNormBackward& call, CUstream_st* stream) {
  return dispatch_backward(
      call, [&](auto kernel, unsigned blocks) { return launch(kernel, blocks, threads, 0, stream, call); });
}

}  // namespace d9d::cuda
