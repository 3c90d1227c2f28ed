// A team of lanes works on a head: as many as it has pairs of packs, up to a warp. It goes on to the head's neighbours,
// whose angles are the same.
#include "kernels/cuda/attention/rope.hpp"

#include "kernels/cuda/column_sums.hpp"
#include "kernels/cuda/dispatch.cuh"
#include "kernels/cuda/sums.cuh"

namespace d9d::cuda {
namespace {

constexpr int threads = 256;
constexpr std::int64_t blocks_max = std::int64_t{1} << 16;
constexpr int heads_of_team = 4;            // at least, of a slab
constexpr int shared_floats_max = 48 << 8;  // 48 KiB

// Of a thread: its place in the team that works on a head.
template <int team>
struct Team {
  static constexpr int count = threads / team;
  __device__ static int lane() { return static_cast<int>(threadIdx.x) % team; }
  __device__ static int index() { return static_cast<int>(threadIdx.x) / team; }
};

struct Head {
  std::int64_t token, row;  // of all tokens' heads
  bool there;               // else it is another lane's, see for_heads
};

// f(Head) for the team's `count` neighbours of the heads from `first` on. After the last one it repeats that, because
// lanes of a warp stay together: they sum with each other.
template <int team, class F>
__device__ inline void for_heads(const RopeHeads& shape, std::int64_t first, std::int64_t end,
                                 std::int64_t count, F&& f) {
  const std::int64_t own = first + Team<team>::index() * count;
  Head head{0, min(own, end - 1), own < end};
  head.token = head.row / shape.heads;
  std::int64_t in_token = head.row - head.token * shape.heads;
  for (std::int64_t n = 0; n < count; ++n) {
    f(head, in_token);
    if (head.row + 1 < end) {
      ++head.row;
      if (++in_token == shape.heads) {
        in_token = 0;
        ++head.token;
      }
    } else {
      head.there = false;
    }
  }
}

// f(i) for the packs of a head, which begin at element i.
template <int size, int team, class F>
__device__ inline void for_packs(int begin, int end, F&& f) {
  for (int i = begin + Team<team>::lane() * size; i < end; i += team * size) f(i);
}

// f(i, j) for the pairs of packs that are rotated. Packs of more than one element: at most one pair a lane.
template <int size, int team, class F>
__device__ inline void for_pairs(const RopeHeads& shape, F&& f) {
  const int half = shape.rotary / 2, lane = Team<team>::lane();
  if constexpr (size > 1) {
    if (lane * size < half) f(lane * size, lane * size + half);
  } else {
    for (int p = lane; p < half; p += team) shape.interleaved ? f(2 * p, 2 * p + 1) : f(p, p + half);
  }
}

// Of a pair of packs: (a, b) becomes (a cos_a - b sin_a, b cos_b + a sin_b). The transpose, for backward, takes minus
// the sine of the other element.
template <int size>
struct Angles {
  Pack<size> cos_a, cos_b, sin_a, sin_b;

  __device__ void load(const RopeHeads& shape, std::int64_t token, bool transposed, int i, int j) {
    const std::int64_t row = token % shape.angle_rows * shape.rotary;
    cos_a = load_pack<size>(shape.cos + row + i);
    cos_b = load_pack<size>(shape.cos + row + j);
    sin_a = load_pack<size>(shape.sin + row + (transposed ? j : i));
    sin_b = load_pack<size>(shape.sin + row + (transposed ? i : j));
    if (!transposed) return;
#pragma unroll
    for (int e = 0; e < size; ++e) {
      sin_a.at[e] = -sin_a.at[e];
      sin_b.at[e] = -sin_b.at[e];
    }
  }
  __device__ void turn(Pack<size>& a, Pack<size>& b) const {
#pragma unroll
    for (int e = 0; e < size; ++e) {
      const float x = a.at[e], y = b.at[e];
      a.at[e] = x * cos_a.at[e] - y * sin_a.at[e];
      b.at[e] = y * cos_b.at[e] + x * sin_b.at[e];
    }
  }
};

// The angles of the thread's pair, which it reads once for neighbours of one token.
template <int size>
class KeptAngles {
 public:
  __device__ const Angles<size>& of(const RopeHeads& shape, std::int64_t token, bool transposed, int i,
                                    int j) {
    if (size == 1 || token != token_) angles_.load(shape, token, transposed, i, j);
    token_ = token;
    return angles_;
  }

 private:
  std::int64_t token_ = -1;
  Angles<size> angles_;
};

// x times its norm's factor and weight.
template <class T, int size>
__device__ inline Pack<size> normed(const RopeHeads& shape, Pack<size> x, float inverse, int i) {
  if (shape.weight == nullptr) return x;
  const Pack<size> weight = load_pack<size>(static_cast<const T*>(shape.weight) + i);
#pragma unroll
  for (int e = 0; e < size; ++e) x.at[e] = rounded<T>(x.at[e] * inverse * (shape.offset + weight.at[e]));
  return x;
}

// `transposed`: without a norm, backward is the same. 3 blocks a multiprocessor: without a number the compiler aims at 4,
// and spills where numbers are float32.
template <class T, int size, int team>
__global__ void __launch_bounds__(threads, 3) rope_kernel(Rope call, std::int64_t count, bool transposed) {
  const RopeHeads& shape = call.shape;
  const std::int64_t heads = shape.tokens * shape.heads, step = Team<team>::count * count;
  KeptAngles<size> angles;
  for (std::int64_t first = blockIdx.x * step; first < heads; first += gridDim.x * step) {
    for_heads<team>(shape, first, heads, count, [&](const Head& head, std::int64_t in_token) {
      const T* const x = row_of<T>(call.x, head.token) + in_token * shape.dim;
      T* const y = static_cast<T*>(call.y) + head.token * call.y_stride + in_token * shape.dim;
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
        if (head.there && Team<team>::lane() == 0) call.inverse[head.row] = inverse;
      }
      if (!head.there) return;
      const auto get = [&](int i) { return normed<T>(shape, load_pack<size>(x + i), inverse, i); };
      for_pairs<size, team>(shape, [&](int i, int j) {
        Pack<size> a = get(i), b = get(j);
        angles.of(shape, head.token, transposed, i, j).turn(a, b);
        store_pack<size>(y + i, a);
        store_pack<size>(y + j, b);
      });
      for_packs<size, team>(shape.rotary, shape.dim, [&](int i) { store_pack<size>(y + i, get(i)); });
    });
  }
}

template <int size>
__device__ inline void add(float* sums, const Pack<size>& values) {
#pragma unroll
  for (int e = 0; e < size; ++e) sums[e] += values.at[e];
}

// With a norm. Sums dn * x * inverse to the weight's gradient: a thread has those of its pair in registers, all others
// in its team's shared sums [dim], which only the thread that owns a column writes. A block's heads are a slab
// of neighbours, so that the order of sums depends on shapes only.
template <class T, int size, int team>
__global__ void __launch_bounds__(threads) backward_kernel(RopeBackward call, std::int64_t slab) {
  const RopeHeads& shape = call.shape;
  constexpr int teams = Team<team>::count;
  const std::int64_t begin = blockIdx.x * slab, end = min(begin + slab, shape.tokens * shape.heads);
  float *const all_sums = static_cast<float*>(dynamic_shared()), *const sums =
                                                                     all_sums +
                                                                     Team<team>::index() * shape.dim;
  for (int i = static_cast<int>(threadIdx.x); i < teams * shape.dim; i += threads) all_sums[i] = 0;
  __syncthreads();
  KeptAngles<size> angles;
  Pack<size> sum_a{}, sum_b{};
  for_heads<team>(
      shape, begin, end, (slab + teams - 1) / teams, [&](const Head& head, std::int64_t in_token) {
        const T *const dy = row_of<T>(call.dy, head.token) + in_token * shape.dim,
                       *const x = row_of<T>(call.x, head.token) + in_token * shape.dim,
                       *const weight = static_cast<const T*>(shape.weight);
        T* const dx = static_cast<T*>(call.dx) + head.token * call.dx_stride + in_token * shape.dim;
        const float inverse = call.inverse[head.row], counts = head.there ? inverse : 0.0F;
        float dot = 0;
        const auto share = [&](int i, const Pack<size>& dn) {
          Pack<size> product = load_pack<size>(x + i);
          const Pack<size> scale = load_pack<size>(weight + i);
#pragma unroll
          for (int e = 0; e < size; ++e) {
            product.at[e] *= dn.at[e];
            dot += product.at[e] * (shape.offset + scale.at[e]);
            product.at[e] *= counts;
          }
          return product;
        };
        Pack<size> a, b;
        const auto turn = [&](int i, int j) {
          a = load_pack<size>(dy + i);
          b = load_pack<size>(dy + j);
          angles.of(shape, head.token, true, i, j).turn(a, b);
        };
        for_pairs<size, team>(shape, [&](int i, int j) {
          turn(i, j);
          add(size > 1 ? sum_a.at : sums + i, share(i, a));
          add(size > 1 ? sum_b.at : sums + j, share(j, b));
        });
        for_packs<size, team>(shape.rotary, shape.dim,
                              [&](int i) { add(sums + i, share(i, load_pack<size>(dy + i))); });
        const float back = over_lanes<Added, team>(dot) / static_cast<float>(shape.dim) * inverse * inverse;
        if (!head.there) return;
        const auto finish = [&](int i, Pack<size> dn) {
          const Pack<size> in = load_pack<size>(x + i), scale = load_pack<size>(weight + i);
#pragma unroll
          for (int e = 0; e < size; ++e)
            dn.at[e] = inverse * (dn.at[e] * (shape.offset + scale.at[e]) - in.at[e] * back);
          store_pack<size>(dx + i, dn);
        };
        for_pairs<size, team>(shape, [&](int i, int j) {
          if (size == 1) turn(i, j);
          finish(i, a);
          finish(j, b);
        });
        for_packs<size, team>(shape.rotary, shape.dim, [&](int i) { finish(i, load_pack<size>(dy + i)); });
      });
  if (size > 1) {
    for_pairs<size, team>(shape, [&](int i, int j) {
      add(sums + i, sum_a);
      add(sums + j, sum_b);
    });
  }
  __syncthreads();
  for (int i = static_cast<int>(threadIdx.x); i < shape.dim; i += threads) {
    float sum = 0;
    for (int t = 0; t < teams; ++t) sum += all_sums[t * shape.dim + i];
    call.partial[blockIdx.x * static_cast<std::int64_t>(shape.dim) + i] = sum;
  }
}

// f(T, size, team) as constants: the smallest team that has a lane for each pair of packs, and whose sums fit.
template <class F>
int dispatch_heads(const RopeHeads& shape, std::initializer_list<ConstRows> rows, F&& f) {
  return dispatch(shape.type, [&](auto tag) {
    using T = decltype(tag);
    constexpr int size = pack_size<T>;
    const int pairs = shape.rotary / 2 / size;
    const bool packs = !shape.interleaved && pairs <= 32 && shape.rotary % (2 * size) == 0 &&
                       takes_packs<T>(shape.dim, rows) &&
                       takes_packs<float>(shape.rotary, {{shape.cos}, {shape.sin}});
    return dispatch_packs<T>(packs, [&](auto pack) {
      if constexpr (pack() > 1) {
        const auto fits = [&](int team) {
          return pairs <= team && threads / team * shape.dim <= shared_floats_max;
        };
        if (fits(8)) return f(tag, pack, std::integral_constant<int, 8>{});
        if (fits(16)) return f(tag, pack, std::integral_constant<int, 16>{});
      }
      return f(tag, pack, std::integral_constant<int, 32>{});
    });
  });
}

int turn(const Rope& call, bool transposed, CUstream_st* stream) {
  const std::int64_t heads = call.shape.tokens * call.shape.heads;
  if (heads == 0) return 0;
  return dispatch_heads(
      call.shape, {call.x, {call.shape.weight}, {call.y, call.y_stride}}, [&](auto tag, auto size, auto team) {
        const std::int64_t few = threads / team() * 512,
                           count = heads < few * heads_of_team ? 1 : heads_of_team,
                           step = threads / team() * count, blocks = (heads + step - 1) / step;
        return launch(rope_kernel<decltype(tag), size(), team()>,
                      static_cast<unsigned>(blocks < blocks_max ? blocks : blocks_max), threads, 0, stream,
                      call, count, transposed);
      });
}

}  // namespace

int rope(const Rope& call, CUstream_st* stream) {
  return turn(call, false, stream);
}

std::int64_t rope_slabs(const RopeHeads& shape) {
  const std::int64_t heads = shape.tokens * shape.heads, slab = slab_of(heads, 32 * heads_of_team);
  return (heads + slab - 1) / slab;
}

int rope_backward(const RopeBackward& call, CUstream_st* stream) {
  const RopeHeads& shape = call.shape;
  if (shape.weight == nullptr) return turn({shape, call.dy, 0, call.dx, call.dx_stride}, true, stream);
  const std::int64_t heads = shape.tokens * shape.heads;
  if (heads == 0) return 0;
  const std::initializer_list<ConstRows> rows = {call.dy, call.x, {shape.weight}, {call.dx, call.dx_stride}};
  return dispatch_heads(shape, rows, [&](auto tag, auto size, auto team) {
    return launch(backward_kernel<decltype(tag), size(), team()>, static_cast<unsigned>(rope_slabs(shape)),
                  threads, threads / team() * shape.dim * sizeof(float), stream, call,
                  slab_of(heads, 32 * heads_of_team));
  });
}

}  // namespace d9d::cuda
