#include "kernels/cuda/moe/permute.hpp"

#include "kernels/cuda/row_grid.cuh"
#include "kernels/cuda/sums.cuh"

namespace d9d::cuda {
namespace {

constexpr int threads = 256, warps = threads / 32;
constexpr int rounds = 4;                // choices of a thread
constexpr int chunk = threads * rounds;  // choices that a block orders
constexpr int offsets_threads = 1024;
constexpr unsigned all_lanes = 0xffffffffU;

__device__ inline int lane_of_thread() {
  return static_cast<int>(threadIdx.x % 32);
}

// The sum of the values of the lanes up to this one.
__device__ inline int sum_up_to_lane(int value) {
#pragma unroll
  for (int step = 1; step < 32; step *= 2) {
    const int before = __shfl_up_sync(all_lanes, value, step);
    if (lane_of_thread() >= step) value += before;
  }
  return value;
}

// Of the warp's choices, in their order, which place each has among those of its expert. `counts` [experts] is of the
// warp; of the lanes with the same expert only the first one writes to it.
__device__ inline void rank_choices(const int (&expert)[rounds], std::uint16_t* counts,
                                    int (&place)[rounds]) {
  const unsigned lanes_before = (1U << lane_of_thread()) - 1;
#pragma unroll
  for (int i = 0; i < rounds; ++i) {
    const unsigned same = __match_any_sync(all_lanes, expert[i]);
    const int before = expert[i] < 0 ? 0 : counts[expert[i]];
    place[i] = before + __popc(same & lanes_before);
    __syncwarp();
    if (expert[i] >= 0 && (same & lanes_before) == 0)
      counts[expert[i]] = static_cast<std::uint16_t>(before + __popc(same));
    __syncwarp();
  }
}

// map := the place of a choice among those of its expert in the chunk, -1 for a choice of none; counts := how many
// choices of the chunk are an expert's. Each warp goes through 128 neighbours, 32 at a time.
__global__ void __launch_bounds__(threads) chunk_kernel(ExpertOrder call) {
  auto* const counts = static_cast<std::uint16_t*>(dynamic_shared());  // [warps, experts]
  for (int i = static_cast<int>(threadIdx.x); i < warps * call.experts; i += threads) counts[i] = 0;
  __syncthreads();
  const int warp = static_cast<int>(threadIdx.x / 32);
  const std::int64_t first = std::int64_t{blockIdx.x} * chunk + warp * rounds * 32 + lane_of_thread();
  int expert[rounds], place[rounds];
#pragma unroll
  for (int i = 0; i < rounds; ++i) {
    const std::int64_t choice = first + i * 32 < call.count ? call.choices[first + i * 32] : -1;
    expert[i] = choice >= 0 && choice < call.experts ? static_cast<int>(choice) : -1;
  }
  rank_choices(expert, counts + warp * call.experts, place);
  __syncthreads();
  for (int e = static_cast<int>(threadIdx.x); e < call.experts; e += threads) {
    int total = 0;
    for (int w = 0; w < warps; ++w) {
      std::uint16_t& count = counts[w * call.experts + e];
      const int begin = total;
      total += count;
      count = static_cast<std::uint16_t>(begin);
    }
    call.counts[e * std::int64_t{gridDim.x} + blockIdx.x] = total;
  }
  __syncthreads();
#pragma unroll
  for (int i = 0; i < rounds; ++i)
    if (first + i * 32 < call.count)
      call.map[first + i * 32] = expert[i] < 0 ? -1 : counts[warp * call.experts + expert[i]] + place[i];
}

// By one block: counts := the place in its expert's rows where a chunk begins; offsets. A warp goes through the chunks
// of an expert, 32 at a time; the first warp then through the experts.
__global__ void __launch_bounds__(offsets_threads) offsets_kernel(ExpertOrder call, std::int64_t chunks) {
  int* const totals = static_cast<int*>(dynamic_shared());  // [experts]
  const int lane = lane_of_thread(), warp = static_cast<int>(threadIdx.x / 32);
  for (int e = warp; e < call.experts; e += offsets_threads / 32) {
    int total = 0;
    for (std::int64_t c = lane; c - lane < chunks; c += 32) {
      const int count = c < chunks ? call.counts[e * chunks + c] : 0, end = sum_up_to_lane(count);
      if (c < chunks) call.counts[e * chunks + c] = total + end - count;
      total += __shfl_sync(all_lanes, end, 31);
    }
    if (lane == 0) totals[e] = total;
  }
  __syncthreads();
  if (warp > 0) return;
  std::int64_t total = 0;
  for (int e = lane; e - lane < call.experts; e += 32) {
    const int end = sum_up_to_lane(e < call.experts ? totals[e] : 0);
    if (e < call.experts) call.offsets[e + 1] = total + end;
    total += __shfl_sync(all_lanes, end, 31);
  }
  if (lane == 0) call.offsets[0] = 0;
}

// From the place in a chunk to the row.
struct PlaceRows {
  ExpertOrder call;
  std::int64_t chunks = 0;
  __device__ void operator()(std::int64_t of_chunk, std::int64_t i) const {
    const std::int64_t at = of_chunk * chunk + i;
    if (at >= call.count || call.map[at] < 0) return;
    const std::int64_t expert = call.choices[at];
    call.map[at] += call.offsets[expert] + call.counts[expert * chunks + of_chunk];
  }
};

// Experts are divided in 32 bits: a division in 64 is a loop.
struct Owners {
  ChoiceOwners call;
  __device__ unsigned owner(std::int64_t choice) const {
    return static_cast<unsigned>(call.experts[choice]) / call.per_owner;
  }
  __device__ void operator()(std::int64_t token, std::int64_t j) const {
    const std::int64_t first = token * call.top_k;
    const unsigned own = owner(first + j);
    bool is_first = true;
    for (std::int64_t before = 0; before < j; ++before) is_first &= owner(first + before) != own;
    call.owners[first + j] = is_first ? std::int64_t{own} : -1;
  }
};

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
      Pack<size> also{};
      if (call.also.data) also = load_pack<size>(row_of<T>(call.also, row) + pack * size);
#pragma unroll
      for (int e = 0; e < size; ++e) sum.at[e] += scale * (x.at[e] + also.at[e]);
    }
    store_pack<size>(static_cast<T*>(call.out) + token * call.width + pack * size, sum);
  }
};

// A warp for each choice.
template <class T, int size>
__global__ void __launch_bounds__(threads) dots_kernel(RowDots call) {
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
    return dispatch_packs<T>(takes_packs<T>(call.width, {call.in, call.also, {call.out}}), [&](auto size) {
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
  if (chunks > 0)
    code = launch(chunk_kernel, static_cast<unsigned>(chunks), threads,
                  sizeof(std::uint16_t) * warps * call.experts, stream, call);
  if (code == 0)
    code = launch(offsets_kernel, 1, offsets_threads, sizeof(int) * call.experts, stream, call, chunks);
  if (code == 0) code = launch_rows(chunks, chunk, PlaceRows{call, chunks}, stream);
  return code;
}

int choice_owners(const ChoiceOwners& call, CUstream_st* stream) {
  return launch_rows(call.tokens, call.top_k, Owners{call}, stream);
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
