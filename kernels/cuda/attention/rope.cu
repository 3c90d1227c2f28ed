// A group of lanes works on a head: as many as its pairs of packs need, up to a warp. A head is read twice, the second
// time from the first-level cache.
#include "kernels/cuda/attention/rope.hpp"

#include "kernels/cuda/column_sums.hpp"
#include "kernels/cuda/dispatch.cuh"
#include "kernels/cuda/sums.cuh"

namespace d9d::cuda {
namespace {

constexpr int threads = 256;
constexpr std::int64_t blocks_max = std::int64_t{1} << 16;
constexpr int heads_of_team = 4;  // at least, of a slab

// Of a thread: its place in the group that works on a head.
template <int team>
struct Team {
  static constexpr int count = threads / team;
  __device__ static int lane() { return static_cast<int>(threadIdx.x) % team; }
  __device__ static int index() { return static_cast<int>(threadIdx.x) / team; }
};

// f(i) for the packs of a head, which begin at element i.
template <int size, int team, class F>
__device__ inline void for_packs(int begin, int end, F&& f) {
  for (int i = begin + Team<team>::lane() * size; i < end; i += team * size) f(i);
}

// The head's normed values from element i on; without a weight x itself.
template <class T, int size>
__device__ inline Pack<size> normed(const RopeHeads& shape, const T* x, float inverse, int i) {
  Pack<size> values = load_pack<size>(x + i);
  if (shape.weight == nullptr) return values;
  const Pack<size> weight = load_pack<size>(static_cast<const T*>(shape.weight) + i);
#pragma unroll
  for (int e = 0; e < size; ++e)
    values.at[e] = rounded<T>(values.at[e] * inverse * (shape.offset + weight.at[e]));
  return values;
}

// put(i, pack) with the rotated values of a head, whose values from i on are get(i): for each pair, `forward` as above,
// or else the transpose. The pairs of interleaved heads are taken one by one.
template <int size, int team, class Get, class Put>
__device__ inline void rotate(const RopeHeads& shape, std::int64_t token, float forward, Get&& get,
                              Put&& put) {
  const float* const cos = shape.cos + token % shape.angle_rows * shape.rotary;
  const float* const sin = shape.sin + token % shape.angle_rows * shape.rotary;
  const int half = shape.rotary / 2;
  // Backward takes the sine of the other element of a pair.
  const auto turn = [&](float a, float b, int i, int j, float& first, float& second) {
    const float sin_a = forward > 0 ? sin[i] : -sin[j], sin_b = forward > 0 ? sin[j] : -sin[i];
    first = a * cos[i] - b * sin_a;
    second = b * cos[j] + a * sin_b;
  };
  if constexpr (size == 1) {
    for (int p = Team<team>::lane(); p < half; p += team) {
      const int i = shape.interleaved ? 2 * p : p, j = shape.interleaved ? 2 * p + 1 : p + half;
      Pack<1> a = get(i), b = get(j), first, second;
      turn(a.at[0], b.at[0], i, j, first.at[0], second.at[0]);
      put(i, first);
      put(j, second);
    }
  } else {
    for_packs<size, team>(0, half, [&](int i) {
      const Pack<size> a = get(i), b = get(i + half);
      Pack<size> first, second;
#pragma unroll
      for (int e = 0; e < size; ++e) turn(a.at[e], b.at[e], i + e, i + half + e, first.at[e], second.at[e]);
      put(i, first);
      put(i + half, second);
    });
  }
  for_packs<size, team>(shape.rotary, shape.dim, [&](int i) { put(i, get(i)); });
}

// f(head of all tokens, whether there is one): lanes of a warp stay together, because they sum with each other.
template <int team, class F>
__device__ inline void for_heads(std::int64_t begin, std::int64_t end, std::int64_t step, F&& f) {
  for (std::int64_t first = begin; first < end; first += step) {
    const std::int64_t head = first + Team<team>::index();
    f(head < end ? head : end - 1, head < end);
  }
}

template <class T, int size, int team>
__global__ void __launch_bounds__(threads, 4) rope_kernel(Rope call) {
  const RopeHeads& shape = call.shape;
  constexpr int teams = Team<team>::count;
  for_heads<team>(std::int64_t{blockIdx.x} * teams, shape.tokens * shape.heads,
                  std::int64_t{gridDim.x} * teams, [&](std::int64_t head, bool there) {
                    const std::int64_t token = head / shape.heads;
                    const T* const x = row_of<T>(call.x, token) + (head - token * shape.heads) * shape.dim;
                    T* const y = static_cast<T*>(call.y) + head * shape.dim;
                    float inverse = 1;
                    if (shape.weight != nullptr) {
                      float squares = 0;
                      for_packs<size, team>(0, shape.dim, [&](int i) {
                        const Pack<size> values = load_pack<size>(x + i);
#pragma unroll
                        for (int e = 0; e < size; ++e) squares += values.at[e] * values.at[e];
                      });
                      const float mean = over_lanes<Added, team>(squares) / static_cast<float>(shape.dim);
                      inverse = 1.0F / sqrtf(mean + call.eps);
                      if (there && Team<team>::lane() == 0) call.inverse[head] = inverse;
                    }
                    if (!there) return;
                    rotate<size, team>(
                        shape, token, 1, [&](int i) { return normed<T, size>(shape, x, inverse, i); },
                        [&](int i, const Pack<size>& values) { store_pack<size>(y + i, values); });
                  });
}

// Adds dn * x * inverse to the team's sums of the weight's gradient [dim], which only the thread that owns a column
// writes. A block's heads are a slab of neighbours, so that the order of sums depends on shapes only.
template <class T, int size, int team>
__global__ void __launch_bounds__(threads) backward_kernel(RopeBackward call, std::int64_t slab) {
  const RopeHeads& shape = call.shape;
  constexpr int teams = Team<team>::count;
  const std::int64_t begin = blockIdx.x * slab, end = min(begin + slab, shape.tokens * shape.heads);
  const bool norm = shape.weight != nullptr;
  float* const sums = static_cast<float*>(dynamic_shared()) + Team<team>::index() * shape.dim;
  if (norm) {
    for (int i = static_cast<int>(threadIdx.x); i < teams * shape.dim; i += threads)
      static_cast<float*>(dynamic_shared())[i] = 0;
    __syncthreads();
  }
  for_heads<team>(begin, end, teams, [&](std::int64_t head, bool there) {
    const std::int64_t token = head / shape.heads, in_token = (head - token * shape.heads) * shape.dim;
    const T* const dy = row_of<T>(call.dy, token) + in_token;
    T* const dx = static_cast<T*>(call.dx) + head * shape.dim;
    const auto dy_from = [&](int i) { return load_pack<size>(dy + i); };
    if (!norm) {
      if (there)
        rotate<size, team>(shape, token, -1, dy_from,
                           [&](int i, const Pack<size>& dn) { store_pack<size>(dx + i, dn); });
      return;
    }
    const T *const x = row_of<T>(call.x, token) + in_token, *const weight =
                                                                static_cast<const T*>(shape.weight);
    const float inverse = call.inverse[head];
    float dot = 0;
    rotate<size, team>(shape, token, -1, dy_from, [&](int i, const Pack<size>& dn) {
      const Pack<size> in = load_pack<size>(x + i), scale = load_pack<size>(weight + i);
#pragma unroll
      for (int e = 0; e < size; ++e) {
        dot += dn.at[e] * (shape.offset + scale.at[e]) * in.at[e];
        if (there) sums[i + e] += dn.at[e] * in.at[e] * inverse;
      }
    });
    const float back = over_lanes<Added, team>(dot) / static_cast<float>(shape.dim) * inverse * inverse;
    if (!there) return;
    rotate<size, team>(shape, token, -1, dy_from, [&](int i, Pack<size> dn) {
      const Pack<size> in = load_pack<size>(x + i), scale = load_pack<size>(weight + i);
#pragma unroll
      for (int e = 0; e < size; ++e)
        dn.at[e] = inverse * (dn.at[e] * (shape.offset + scale.at[e]) - in.at[e] * back);
      store_pack<size>(dx + i, dn);
    });
  });
  if (!norm) return;
  __syncthreads();
  for (int i = static_cast<int>(threadIdx.x); i < shape.dim; i += threads) {
    float sum = 0;
    for (int t = 0; t < teams; ++t) sum += static_cast<float*>(dynamic_shared())[t * shape.dim + i];
    call.partial[blockIdx.x * static_cast<std::int64_t>(shape.dim) + i] = sum;
  }
}

// The lanes of a head, by its size, and whether they take packs.
template <class F>
int dispatch_heads(const RopeHeads& shape, std::initializer_list<ConstRows> rows, F&& f) {
  return dispatch(shape.type, [&](auto tag) {
    using T = decltype(tag);
    constexpr int size = pack_size<T>;
    const bool packs = !shape.interleaved && shape.dim % size == 0 && shape.rotary % (2 * size) == 0;
    return dispatch_packs<T>(packs && takes_packs<T>(shape.dim, rows), [&](auto pack) {
      return shape.dim <= 16 * pack() ? f(tag, pack, std::integral_constant<int, 8>{})
                                      : f(tag, pack, std::integral_constant<int, 32>{});
    });
  });
}

}  // namespace

int rope(const Rope& call, CUstream_st* stream) {
  const std::int64_t heads = call.shape.tokens * call.shape.heads;
  if (heads == 0) return 0;
  return dispatch_heads(call.shape, {call.x, {call.shape.weight}, {call.y}},
                        [&](auto tag, auto size, auto team) {
                          const std::int64_t teams = threads / team(), blocks = (heads + teams - 1) / teams;
                          return launch(rope_kernel<decltype(tag), size(), team()>,
                                        static_cast<unsigned>(blocks < blocks_max ? blocks : blocks_max),
                                        threads, 0, stream, call);
                        });
}

std::int64_t rope_slabs(const RopeHeads& shape) {
  const std::int64_t heads = shape.tokens * shape.heads, slab = slab_of(heads, 32 * heads_of_team);
  return (heads + slab - 1) / slab;
}

int rope_backward(const RopeBackward& call, CUstream_st* stream) {
  const std::int64_t heads = call.shape.tokens * call.shape.heads;
  if (heads == 0) return 0;
  const std::initializer_list<ConstRows> rows = {call.dy, call.x, {call.shape.weight}, {call.dx}};
  return dispatch_heads(call.shape, rows, [&](auto tag, auto size, auto team) {
    const std::size_t sums =
        call.shape.weight != nullptr ? threads / team() * call.shape.dim * sizeof(float) : 0;
    return launch(backward_kernel<decltype(tag), size(), team()>,
                  static_cast<unsigned>(rope_slabs(call.shape)), threads, sums, stream, call,
                  slab_of(heads, 32 * heads_of_team));
  });
}

}  // namespace d9d::cuda
