#include "kernels/cuda/attention/token_cache.hpp"

#include "kernels/cuda/row_grid.cuh"
#include "kernels/cuda/sums.cuh"

namespace d9d::cuda {
namespace {

// Of a token of the launch, counted from 0.
__device__ inline const CacheTokens::Stretch& stretch_of(const CacheTokens& tokens, std::int64_t index) {
  const std::int64_t token = tokens.stretches[0].first + index;
  int low = 0, high = tokens.count;
  while (high - low > 1) {
    const int middle = (low + high) / 2;
    if (tokens.stretches[middle].first <= token)
      low = middle;
    else
      high = middle;
  }
  return tokens.stretches[low];
}

template <class T, int size>
struct WriteRows {
  WriteCache call;
  __device__ void operator()(std::int64_t row, std::int64_t pack) const {
    const std::int64_t index = row / call.heads, head = row - index * call.heads;
    const CacheTokens::Stretch& stretch = stretch_of(call.tokens, index);
    const std::int64_t token = call.tokens.stretches[0].first + index;
    const std::int64_t place = stretch.past + token - stretch.first;
    const T* const from = row_of<T>(call.rows, token) + head * call.dim + pack * size;
    T* const into = static_cast<T*>(call.cache) +
                    ((stretch.sequence * call.heads + head) * call.room + place) * call.dim + pack * size;
    store_pack<size>(into, load_pack<size>(from));
  }
};

constexpr int attention_threads = 128;
constexpr int key_lanes = 8;  // that share a key
constexpr int slab = 512;     // keys of a block
struct Scores;

// Of a query head of a token: the keys that its block reads. A block each, also of heads that share keys: they come
// from the second level cache then.
struct SlabOfKeys {
  std::int64_t row;  // of the cache, of the first key
  int count;         // <= 0: none
};

__device__ inline SlabOfKeys slab_of(const CachedAttention& call, std::int64_t index, std::int64_t head,
                                     std::int64_t number) {
  const CacheTokens::Stretch& stretch = stretch_of(call.tokens, index);
  const std::int64_t token = call.tokens.stretches[0].first + index;
  const std::int64_t end = stretch.past + token - stretch.first + 1;
  const std::int64_t seen = call.window > 0 && end > call.window ? end - call.window : 0;
  const std::int64_t first = seen + number * slab;
  const std::int64_t key_head = head / (call.query_heads / call.key_heads);
  return {(stretch.sequence * call.key_heads + key_head) * call.room + first,
          static_cast<int>(min(std::int64_t{slab}, end - first))};
}

// scores [keys] = keys query, by groups of lanes.
template <class T, int size>
__device__ inline void key_scores(const T* keys, int count, int dim, const float* query, float* scores) {
  constexpr int teams = attention_threads / key_lanes;
  const int team = static_cast<int>(threadIdx.x) / key_lanes,
            lane = static_cast<int>(threadIdx.x) % key_lanes;
  for (int begin = 0; begin < count; begin += teams) {
    const int key = begin + team < count ? begin + team : count - 1;
    const T* const row = keys + std::int64_t{key} * dim;
    float dot = 0;
    for (int i = lane * size; i < dim; i += key_lanes * size) {
      const Pack<size> x = load_pack<size>(row + i);
#pragma unroll
      for (int e = 0; e < size; ++e) dot += query[i + e] * x.at[e];
    }
    dot = over_lanes<Added, key_lanes>(dot);
    if (begin + team < count && lane == 0) scores[key] = dot;
  }
}

// sums [groups, dim], by groups of threads that each weigh every so manieth row.
template <class T, int size>
__device__ inline void weigh_values(const T* values, int count, int dim, const float* weights, int groups,
                                    float* sums) {
  const int packs = dim / size;
  const int across = packs < attention_threads ? packs : attention_threads;
  const int group = static_cast<int>(threadIdx.x) / across;
  if (group >= groups) return;
  for (int pack = static_cast<int>(threadIdx.x) % across; pack < packs; pack += across) {
    Pack<size> sum{};
    for (int key = group; key < count; key += groups) {
      const Pack<size> x = load_pack<size>(values + std::int64_t{key} * dim + pack * size);
      const float weight = weights[key];
#pragma unroll
      for (int e = 0; e < size; ++e) sum.at[e] += weight * x.at[e];
    }
#pragma unroll
    for (int e = 0; e < size; ++e) sums[group * dim + pack * size + e] = sum.at[e];
  }
}

// A block for each slab of keys of each query head of each token.
template <class T, int size>
__global__ void __launch_bounds__(attention_threads) attend_kernel(CachedAttention call, int groups) {
  const std::int64_t row = blockIdx.x, index = row / call.query_heads, head = row - index * call.query_heads;
  const std::int64_t token = call.tokens.stretches[0].first + index;
  const SlabOfKeys keys = slab_of(call, index, head, blockIdx.y);
  const int dim = static_cast<int>(call.dim), value_dim = static_cast<int>(call.value_dim);
  const int thread = static_cast<int>(threadIdx.x);
  float* const partial = call.partial + (row * call.slabs + blockIdx.y) * (value_dim + 2);
  if (keys.count <= 0) {
    if (thread == 0) partial[value_dim + 1] = 0;
    return;
  }
  float *const query = static_cast<float*>(dynamic_shared()), *const sums = query + dim;
  float* const scores = shared_array<float, slab, Scores>();
  const T* const q = row_of<T>(call.q, token) + head * dim;
  for (int i = thread; i < dim; i += attention_threads) query[i] = call.scale * load(q, i);
  __syncthreads();
  key_scores<T, size>(static_cast<const T*>(call.keys) + keys.row * dim, keys.count, dim, query, scores);
  __syncthreads();
  float largest = scores[0], total = 0;
  for (int key = thread; key < keys.count; key += attention_threads)
    largest = Largest::of(largest, scores[key]);
  largest = over_block<Largest, attention_threads>(largest);
  for (int key = thread; key < keys.count; key += attention_threads) {
    scores[key] = expf(scores[key] - largest);
    total += scores[key];
  }
  total = over_block<Added, attention_threads>(total);
  weigh_values<T, size>(static_cast<const T*>(call.values) + keys.row * value_dim, keys.count, value_dim,
                        scores, groups, sums);
  __syncthreads();
  T* const out = static_cast<T*>(call.out) + (token * call.query_heads + head) * value_dim;
  for (int i = thread; i < value_dim; i += attention_threads) {
    float sum = 0;
    for (int group = 0; group < groups; ++group) sum += sums[group * value_dim + i];
    if (call.slabs == 1)
      store(out, i, sum / total);
    else
      partial[i] = sum;
  }
  if (call.slabs == 1 || thread > 0) return;
  partial[value_dim] = largest;
  partial[value_dim + 1] = total;
}

// An element of a head's result from those of its slabs, of which only the last ones may have no keys.
template <class T>
struct JoinSlabs {
  CachedAttention call;
  __device__ void operator()(std::int64_t row, std::int64_t i) const {
    const std::int64_t width = call.value_dim + 2;
    const float* const first = call.partial + row * call.slabs * width;
    float largest = first[call.value_dim], sum = 0, total = 0;
    for (std::int64_t s = 1; s < call.slabs && first[s * width + call.value_dim + 1] != 0; ++s)
      largest = Largest::of(largest, first[s * width + call.value_dim]);
    for (std::int64_t s = 0; s < call.slabs && first[s * width + call.value_dim + 1] != 0; ++s) {
      const float share = expf(first[s * width + call.value_dim] - largest);
      sum += share * first[s * width + i];
      total += share * first[s * width + call.value_dim + 1];
    }
    const std::int64_t skipped = call.tokens.stretches[0].first * call.query_heads;
    store(static_cast<T*>(call.out), (skipped + row) * call.value_dim + i, sum / total);
  }
};

constexpr int delta_threads = 256;
constexpr int shared_bytes_max = 47 << 10;  // of 48 KiB, beside the sums of a block

// A block for some columns of a head's state, which it keeps while it goes through the tokens of a stretch. A thread
// has every so manieth row of one column.
template <class T>
__global__ void __launch_bounds__(delta_threads) delta_kernel(DeltaSteps call, int columns) {
  const CacheTokens::Stretch& stretch = call.tokens.stretches[blockIdx.z];
  const int dk = static_cast<int>(call.dk), thread = static_cast<int>(threadIdx.x);
  const int column = thread % columns, group = thread / columns, groups = delta_threads / columns;
  const std::int64_t head = blockIdx.y, key_head = head / (call.value_heads / call.key_heads);
  const std::int64_t d = std::int64_t{blockIdx.x} * columns + column;
  const bool there = d < call.dv;
  float *const state = static_cast<float*>(dynamic_shared()), *const q = state + dk * columns,
               *const k = q + dk, *const sums = k + dk;
  float* const kept_state = call.state + (stretch.sequence * call.value_heads + head) * dk * call.dv + d;
  for (int i = group; i < dk; i += groups) state[i * columns + column] = there ? kept_state[i * call.dv] : 0;
  // Over the groups of a column, on all of its threads.
  const auto over_groups = [&](float part) {
    __syncthreads();  // the result before may still be read
    sums[thread] = part;
    __syncthreads();
    float sum = 0;
    for (int g = 0; g < groups; ++g) sum += sums[g * columns + column];
    return sum;
  };
  for (std::int64_t token = stretch.first; token < stretch.first + stretch.count; ++token) {
    const T* const query = static_cast<const T*>(call.q) + (token * call.key_heads + key_head) * dk;
    const T* const key = static_cast<const T*>(call.k) + (token * call.key_heads + key_head) * dk;
    float of_q = 0, of_k = 0;
    __syncthreads();
    for (int i = thread; i < dk; i += delta_threads) {
      q[i] = load(query, i);
      k[i] = load(key, i);
      of_q += q[i] * q[i];
      of_k += k[i] * k[i];
    }
    __syncthreads();
    float q_scale = call.scale, k_scale = 1;
    if (call.normalise) {
      q_scale *= 1.0F / sqrtf(over_block<Added, delta_threads>(of_q) + call.eps);
      k_scale = 1.0F / sqrtf(over_block<Added, delta_threads>(of_k) + call.eps);
    }
    const std::int64_t gate = token * call.value_heads + head, at = gate * call.dv + d;
    const float kept = expf(call.decay[gate]);
    float part = 0;
    for (int i = group; i < dk; i += groups) {
      float& x = state[i * columns + column];
      x *= kept;
      part += k_scale * k[i] * x;
    }
    const float value = there ? load(static_cast<const T*>(call.v), at) : 0;
    const float change = call.beta[gate] * (value - over_groups(part));
    part = 0;
    for (int i = group; i < dk; i += groups) {
      float& x = state[i * columns + column];
      x += k_scale * k[i] * change;
      part += q_scale * q[i] * x;
    }
    const float out = over_groups(part);
    if (group == 0 && there) store(static_cast<T*>(call.out), at, out);
  }
  for (int i = group; i < dk && there; i += groups) kept_state[i * call.dv] = state[i * columns + column];
}

}  // namespace

int write_cache(const WriteCache& call, CUstream_st* stream) {
  return dispatch(call.type, [&](auto tag) {
    using T = decltype(tag);
    return dispatch_packs<T>(takes_packs<T>(call.dim, {call.rows, {call.cache}}), [&](auto size) {
      return launch_rows(call.tokens.tokens * call.heads, call.dim / size, WriteRows<T, size()>{call},
                         stream);
    });
  });
}

std::int64_t cache_slabs(const CacheTokens& tokens, std::int64_t window) {
  std::int64_t seen = 1;
  for (int i = 0; i < tokens.count; ++i) {
    const std::int64_t end = tokens.stretches[i].past + tokens.stretches[i].count;
    const std::int64_t of_last = window > 0 && window < end ? window : end;
    seen = of_last > seen ? of_last : seen;
  }
  return (seen + slab - 1) / slab;
}

int cached_attention(const CachedAttention& call, CUstream_st* stream) {
  const std::int64_t rows = call.tokens.tokens * call.query_heads;
  if (rows == 0) return 0;
  return dispatch(call.type, [&](auto tag) {
    using T = decltype(tag);
    const bool packs =
        takes_packs<T>(call.dim, {call.q, {call.keys}}) && takes_packs<T>(call.value_dim, {{call.values}});
    const int code = dispatch_packs<T>(packs, [&](auto size) {
      const std::int64_t packs_of_row = call.value_dim / size;
      const int groups =
          packs_of_row < attention_threads ? static_cast<int>(attention_threads / packs_of_row) : 1;
      return launch(attend_kernel<T, size()>,
                    dim3(static_cast<unsigned>(rows), static_cast<unsigned>(call.slabs)), attention_threads,
                    static_cast<std::size_t>(call.dim + groups * call.value_dim) * sizeof(float), stream,
                    call, groups);
    });
    if (code != 0 || call.slabs == 1) return code;
    return launch_rows(rows, call.value_dim, JoinSlabs<T>{call}, stream);
  });
}

int delta_rule_steps(const DeltaSteps& call, CUstream_st* stream) {
  if (call.tokens.count == 0 || call.value_heads == 0 || call.dv == 0) return 0;
  const auto dk = static_cast<int>(call.dk);
  const auto bytes = [&](int columns) { return sizeof(float) * (dk * columns + 2 * dk + delta_threads); };
  int columns = 32;
  while (columns > 1 && bytes(columns) > shared_bytes_max) columns /= 2;
  const dim3 grid(static_cast<unsigned>((call.dv + columns - 1) / columns),
                  static_cast<unsigned>(call.value_heads), static_cast<unsigned>(call.tokens.count));
  return dispatch(call.type, [&](auto tag) {
    return launch(delta_kernel<decltype(tag)>, grid, delta_threads, bytes(columns), stream, call, columns);
  });
}

}  // namespace d9d::cuda
