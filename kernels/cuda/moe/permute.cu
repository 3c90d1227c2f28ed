#include "kernels/cuda/moe/permute.hpp"

#include "kernels/cuda/row_grid.cuh"
#include "kernels/cuda/sums.cuh"

namespace d9d::cuda {
namespace {

constexpr int threads = 256;
constexpr int chunk = 1024;  // choices that a block counts and places
struct Choices;

// The block's chunk of choices, in shared memory; -1 for what is none.
__device__ inline int* load_choices(const ExpertOrder& call) {
  int* const choices = shared_array<int, chunk, Choices>();
  for (int i = static_cast<int>(threadIdx.x); i < chunk; i += threads) {
    const std::int64_t at = std::int64_t{blockIdx.x} * chunk + i;
    const std::int64_t choice = at < call.count ? call.choices[at] : -1;
    choices[i] = choice >= 0 && choice < call.experts ? static_cast<int>(choice) : -1;
  }
  __syncthreads();
  return choices;
}

// A thread for each expert, which goes through all choices of the chunk: no two threads write to one place.
__global__ void __launch_bounds__(threads) count_kernel(ExpertOrder call) {
  const int* const choices = load_choices(call);
  for (int e = static_cast<int>(threadIdx.x); e < call.experts; e += threads) {
    int count = 0;
    for (int i = 0; i < chunk; ++i) count += choices[i] == e;
    call.counts[std::int64_t{blockIdx.x} * call.experts + e] = count;
  }
}

// By one block: counts := the place in its expert's rows where a chunk begins; offsets.
__global__ void __launch_bounds__(threads) offsets_kernel(ExpertOrder call, std::int64_t chunks) {
  for (int e = static_cast<int>(threadIdx.x); e < call.experts; e += threads) {
    int total = 0;
    for (std::int64_t c = 0; c < chunks; ++c) {
      int& count = call.counts[c * call.experts + e];
      const int begin = total;
      total += count;
      count = begin;
    }
    call.offsets[e + 1] = total;
  }
  __syncthreads();
  if (threadIdx.x > 0) return;
  call.offsets[0] = 0;
  for (int e = 0; e < call.experts; ++e) call.offsets[e + 1] += call.offsets[e];
}

__global__ void __launch_bounds__(threads) place_kernel(ExpertOrder call) {
  const int* const choices = load_choices(call);
  const std::int64_t first = std::int64_t{blockIdx.x} * chunk;
  for (int e = static_cast<int>(threadIdx.x); e < call.experts; e += threads) {
    std::int64_t next = call.offsets[e] + call.counts[std::int64_t{blockIdx.x} * call.experts + e];
    for (int i = 0; i < chunk; ++i)
      if (choices[i] == e) call.map[first + i] = next++;
  }
  for (int i = static_cast<int>(threadIdx.x); i < chunk && first + i < call.count; i += threads)
    if (choices[i] < 0) call.map[first + i] = -1;
}

struct PlaceChoices {
  RowsOfChoices call;
  __device__ void operator()(std::int64_t token, std::int64_t j) const {
    const std::int64_t at = token * call.top_k + j, row = call.map[at];
    if (row < 0) return;
    call.token[row] = token;
    call.scale[row] = call.probs[at];
  }
};

__device__ inline float scale_of(const Permute& call, std::int64_t choice, std::int64_t row) {
  return call.scale ? call.scale[call.scale_by_row ? row : choice] : 1.0F;
}

template <class T, int size>
struct Spread {
  Permute call;
  __device__ void operator()(std::int64_t token, std::int64_t pack) const {
    const Pack<size> x = load_pack<size>(row_of<T>(call.in, token) + pack * size);
    for (std::int64_t choice = token * call.top_k; choice < (token + 1) * call.top_k; ++choice) {
      const std::int64_t row = call.map[choice];
      if (row < 0) continue;
      const float scale = scale_of(call, choice, row);
      Pack<size> scaled;
#pragma unroll
      for (int e = 0; e < size; ++e) scaled.at[e] = scale * x.at[e];
      store_pack<size>(static_cast<T*>(call.out) + row * call.width + pack * size, scaled);
    }
  }
};

template <class T, int size>
struct Combine {
  Permute call;
  __device__ void operator()(std::int64_t token, std::int64_t pack) const {
    Pack<size> sum{};
    for (std::int64_t choice = token * call.top_k; choice < (token + 1) * call.top_k; ++choice) {
      const std::int64_t row = call.map[choice];
      if (row < 0) continue;
      const float scale = scale_of(call, choice, row);
      const Pack<size> x = load_pack<size>(row_of<T>(call.in, row) + pack * size);
#pragma unroll
      for (int e = 0; e < size; ++e) sum.at[e] += scale * x.at[e];
    }
    store_pack<size>(static_cast<T*>(call.out) + token * call.width + pack * size, sum);
  }
};

// A warp for each choice.
template <class T, int size>
__global__ void __launch_bounds__(threads) dots_kernel(RowDots call) {
  constexpr int warps = threads / 32;
  const std::int64_t choices = call.tokens * call.top_k;
  for (std::int64_t choice = std::int64_t{blockIdx.x} * warps + threadIdx.x / 32; choice < choices;
       choice += std::int64_t{gridDim.x} * warps) {
    const std::int64_t row = call.map[choice];
    float dot = 0;
    if (row >= 0) {
      const T *const y = row_of<T>(call.y, choice / call.top_k), *const x = row_of<T>(call.rows, row);
      for (std::int64_t i = threadIdx.x % 32 * size; i < call.width; i += 32 * size) {
        const Pack<size> a = load_pack<size>(y + i), b = load_pack<size>(x + i);
#pragma unroll
        for (int e = 0; e < size; ++e) dot += a.at[e] * b.at[e];
      }
    }
    dot = over_lanes<Added>(dot);
    if (threadIdx.x % 32 == 0) call.dots[choice] = dot;
  }
}

template <template <class, int> class Body>
int run(const Permute& call, CUstream_st* stream) {
  return dispatch(call.type, [&](auto tag) {
    using T = decltype(tag);
    return dispatch_packs<T>(takes_packs<T>(call.width, {call.in, {call.out}}), [&](auto size) {
      return launch_rows(call.tokens, call.width / size, Body<T, size()>{call}, stream);
    });
  });
}

}  // namespace

std::int64_t order_chunks(std::int64_t count) {
  return (count + chunk - 1) / chunk;
}

int expert_order(const ExpertOrder& call, CUstream_st* stream) {
  const std::int64_t chunks = order_chunks(call.count);
  int code = 0;
  if (chunks > 0) code = launch(count_kernel, static_cast<unsigned>(chunks), threads, 0, stream, call);
  if (code == 0) code = launch(offsets_kernel, 1, threads, 0, stream, call, chunks);
  if (code == 0 && chunks > 0)
    code = launch(place_kernel, static_cast<unsigned>(chunks), threads, 0, stream, call);
  return code;
}

int rows_of_choices(const RowsOfChoices& call, CUstream_st* stream) {
  return launch_rows(call.tokens, call.top_k, PlaceChoices{call}, stream);
}

int spread_rows(const Permute& call, CUstream_st* stream) {
  return run<Spread>(call, stream);
}

int combine_rows(const Permute& call, CUstream_st* stream) {
  return run<Combine>(call, stream);
}

int row_dots(const RowDots& call, CUstream_st* stream) {
  const std::int64_t blocks = (call.tokens * call.top_k + 7) / 8;
  if (blocks == 0) return 0;
  return dispatch(call.type, [&](auto tag) {
    using T = decltype(tag);
    return dispatch_packs<T>(takes_packs<T>(call.width, {call.y, call.rows}), [&](auto size) {
      return launch(dots_kernel<T, size()>, static_cast<unsigned>(blocks < 65536 ? blocks : 65536), threads,
                    0, stream, call);
    });
  });
}

}  // namespace d9d::cuda
