// A warp works on a row where it can keep it in registers, else a block; each row is read once. The weight's gradient
// is summed in two passes, so that its order does not depend on scheduling.
#include "kernels/cuda/norm.hpp"

#include "kernels/cuda/column_sums.hpp"
#include "kernels/cuda/dispatch.cuh"
#include "kernels/cuda/sums.cuh"

namespace d9d::cuda {
namespace {

constexpr int threads = 256;
constexpr int kept_packs = 4;  // of a row, by each thread in registers
constexpr std::int64_t blocks_max = std::int64_t{1} << 16;

// The packs of a row that a thread of its team works on: f(k, i) for those that it keeps, k being a constant, then
// f(-1, i) for the others of a long row.
template <int team, class F>
__device__ inline void for_packs(std::int64_t packs, F&& f) {
  const int lane = static_cast<int>(threadIdx.x) % team;
#pragma unroll
  for (int k = 0; k < kept_packs; ++k) {
    const std::int64_t i = lane + k * team;
    if (i < packs) f(k, i);
  }
  for (std::int64_t i = lane + kept_packs * team; i < packs; i += team) f(-1, i);
}

// f(row) for the rows of the thread's team.
template <int team, class F>
__device__ inline void for_rows(std::int64_t rows, F&& f) {
  constexpr int teams = threads / team;
  const std::int64_t first = std::int64_t{blockIdx.x} * teams + threadIdx.x / team;
  for (std::int64_t row = first; row < rows; row += std::int64_t{gridDim.x} * teams) f(row);
}

template <class T, int size, int team>
__global__ void __launch_bounds__(threads) rms_norm_kernel(RmsNorm call) {
  const std::int64_t packs = call.width / size;
  for_rows<team>(call.rows, [&](std::int64_t row) {
    const T* x = row_of<T>(call.x, row);
    const T* residual = row_of<T>(call.residual, row);
    T* const sum = residual ? static_cast<T*>(call.sum) + row * call.width : nullptr;
    Pack<size> kept[kept_packs];
    float squares = 0;
    for_packs<team>(packs, [&](int k, std::int64_t i) {
      Pack<size> pack = load_pack<size>(x + i * size);
      if (residual) {
        const Pack<size> other = load_pack<size>(residual + i * size);
#pragma unroll
        for (int e = 0; e < size; ++e) pack.at[e] = rounded<T>(pack.at[e] + other.at[e]);
        store_pack<size>(sum + i * size, pack);
      }
#pragma unroll
      for (int e = 0; e < size; ++e) squares += pack.at[e] * pack.at[e];
      if (k >= 0) kept[k] = pack;
    });
    const float mean = team_sum<team, threads>(squares) / static_cast<float>(call.width);
    const float inverse = 1.0F / sqrtf(mean + call.eps);
    const T* const normed = residual ? sum : x;
    T* const y = static_cast<T*>(call.y) + row * call.width;
    for_packs<team>(packs, [&](int k, std::int64_t i) {
      Pack<size> pack = k >= 0 ? kept[k] : load_pack<size>(normed + i * size);
      const Pack<size> weight = load_pack<size>(static_cast<const T*>(call.weight) + i * size);
#pragma unroll
      for (int e = 0; e < size; ++e) pack.at[e] = pack.at[e] * inverse * (weight.at[e] + call.offset);
      store_pack<size>(y + i * size, pack);
    });
    if (threadIdx.x % team == 0) call.inverse[row] = inverse;
  });
}

// Of a pack of a row: g = dy * (weight + offset), and x.
template <class T, int size>
struct Factors {
  Pack<size> g, x;
  __device__ void load(const RmsNormDx& call, std::int64_t row, std::int64_t i) {
    g = load_pack<size>(row_of<T>(call.dy, row) + i * size);
    x = load_pack<size>(row_of<T>(call.x, row) + i * size);
    const Pack<size> weight = load_pack<size>(static_cast<const T*>(call.weight) + i * size);
#pragma unroll
    for (int e = 0; e < size; ++e) g.at[e] *= weight.at[e] + call.offset;
  }
};

template <class T, int size, int team>
__global__ void __launch_bounds__(threads) dx_kernel(RmsNormDx call) {
  const std::int64_t packs = call.width / size;
  for_rows<team>(call.rows, [&](std::int64_t row) {
    Factors<T, size> kept[kept_packs];
    float dot = 0;
    for_packs<team>(packs, [&](int k, std::int64_t i) {
      Factors<T, size> factors;
      factors.load(call, row, i);
#pragma unroll
      for (int e = 0; e < size; ++e) dot += factors.g.at[e] * factors.x.at[e];
      if (k >= 0) kept[k] = factors;
    });
    const float inverse = call.inverse[row];
    const float mean = team_sum<team, threads>(dot) / static_cast<float>(call.width);
    const float back = mean * inverse * inverse;
    const T* const extra = row_of<T>(call.extra, row);
    T* const dx = static_cast<T*>(call.dx) + row * call.width;
    for_packs<team>(packs, [&](int k, std::int64_t i) {
      Factors<T, size> factors;
      k >= 0 ? void(factors = kept[k]) : factors.load(call, row, i);
      Pack<size> result{};
      if (extra) result = load_pack<size>(extra + i * size);
#pragma unroll
      for (int e = 0; e < size; ++e) result.at[e] += inverse * (factors.g.at[e] - factors.x.at[e] * back);
      store_pack<size>(dx + i * size, result);
    });
  });
}

constexpr int tile_packs = 32, tile_parts = threads / tile_packs;
struct TileSums;

// A block sums 32 packs of columns over a slab of rows: each of its warps every eighth row, then the warps in order.
template <class T, int size>
__global__ void __launch_bounds__(threads) dw_kernel(RmsNormDw call, std::int64_t slab) {
  float* const sums = shared_array<float, threads * size, TileSums>();
  const int lane = threadIdx.x % tile_packs, part = threadIdx.x / tile_packs;
  const std::int64_t packs = call.width / size, pack = std::int64_t{blockIdx.x} * tile_packs + lane;
  const std::int64_t begin = blockIdx.y * slab, end = min(begin + slab, call.rows);
  Pack<size> sum{};
  if (pack < packs) {
    for (std::int64_t row = begin + part; row < end; row += tile_parts) {
      const Pack<size> dy = load_pack<size>(row_of<T>(call.dy, row) + pack * size);
      const Pack<size> x = load_pack<size>(row_of<T>(call.x, row) + pack * size);
      const float inverse = call.inverse[row];
#pragma unroll
      for (int e = 0; e < size; ++e) sum.at[e] += dy.at[e] * x.at[e] * inverse;
    }
  }
  // Element by element, so that neighbours write to neighbours.
#pragma unroll
  for (int e = 0; e < size; ++e) sums[e * threads + threadIdx.x] = sum.at[e];
  __syncthreads();
  if (part > 0 || pack >= packs) return;
#pragma unroll
  for (int e = 0; e < size; ++e) {
    for (int other = 1; other < tile_parts; ++other)
      sum.at[e] += sums[e * threads + other * tile_packs + lane];
    call.partial[blockIdx.y * call.width + pack * size + e] = sum.at[e];
  }
}

// f(T, size, team) as constants, by the width of the rows.
template <class F>
int dispatch_rows(ElementType type, std::int64_t width, std::initializer_list<ConstRows> rows, F&& f) {
  return dispatch(type, [&](auto tag) {
    using T = decltype(tag);
    return dispatch_packs<T>(takes_packs<T>(width, rows), [&](auto size) {
      const bool warp = width / size <= 32 * kept_packs;
      return warp ? f(tag, size, std::integral_constant<int, 32>{})
                  : f(tag, size, std::integral_constant<int, threads>{});
    });
  });
}

unsigned blocks_for(std::int64_t rows, int team) {
  const std::int64_t teams = threads / team, blocks = (rows + teams - 1) / teams;
  return static_cast<unsigned>(blocks < blocks_max ? blocks : blocks_max);
}

}  // namespace

int rms_norm(const RmsNorm& call, CUstream_st* stream) {
  if (call.rows == 0 || call.width == 0) return 0;
  const std::initializer_list<ConstRows> rows = {call.x, call.residual, {call.weight}, {call.sum}, {call.y}};
  return dispatch_rows(call.type, call.width, rows, [&](auto tag, auto size, auto team) {
    return launch(rms_norm_kernel<decltype(tag), size(), team()>, blocks_for(call.rows, team), threads, 0,
                  stream, call);
  });
}

int rms_norm_dx(const RmsNormDx& call, CUstream_st* stream) {
  if (call.rows == 0 || call.width == 0) return 0;
  const std::initializer_list<ConstRows> rows = {call.dy, call.x, call.extra, {call.weight}, {call.dx}};
  return dispatch_rows(call.type, call.width, rows, [&](auto tag, auto size, auto team) {
    return launch(dx_kernel<decltype(tag), size(), team()>, blocks_for(call.rows, team), threads, 0, stream,
                  call);
  });
}

std::int64_t rms_norm_slabs(std::int64_t rows) {
  const std::int64_t slab = slab_of(rows, tile_parts);
  return (rows + slab - 1) / slab;
}

int rms_norm_dw(const RmsNormDw& call, CUstream_st* stream) {
  if (call.rows == 0 || call.width == 0) return 0;
  return dispatch_rows(call.type, call.width, {call.dy, call.x}, [&](auto tag, auto size, auto) {
    const std::int64_t tile = tile_packs * size, tiles = (call.width + tile - 1) / tile;
    const dim3 grid(static_cast<unsigned>(tiles), static_cast<unsigned>(rms_norm_slabs(call.rows)));
    return launch(dw_kernel<decltype(tag), size()>, grid, threads, 0, stream, call,
                  slab_of(call.rows, tile_parts));
  });
}

}  // namespace d9d::cuda
