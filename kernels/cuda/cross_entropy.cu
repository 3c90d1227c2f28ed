// A block works on a row of logits: one pass for the largest and the sum of exponentials (the online softmax of Milakov
// and Gimelshein 2018, arXiv 1805.02867), one for the gradient.
#include "kernels/cuda/cross_entropy.hpp"

#include "kernels/cuda/row_grid.cuh"
#include "kernels/cuda/sums.cuh"

namespace d9d::cuda {
namespace {

constexpr int threads = 512;
constexpr float lowest = -3.402823466e38F;

template <int size, class F>
__device__ inline void for_packs(std::int64_t width, F&& f) {
  for (std::int64_t i = threadIdx.x * size; i < width; i += threads * size) f(i);
}

// The largest logit and the sum of exp(logit - largest).
struct Softmax {
  float top = lowest, total = 0;

  template <int size>
  __device__ void add(const Pack<size>& logits) {
    float largest = top;
#pragma unroll
    for (int e = 0; e < size; ++e) largest = fmaxf(largest, logits.at[e]);
    total *= expf(top - largest);
#pragma unroll
    for (int e = 0; e < size; ++e) total += expf(logits.at[e] - largest);
    top = largest;
  }
};

// Of the row, on all threads of the block.
template <int size>
__device__ inline Softmax softmax_of(const float* z, std::int64_t width) {
  Softmax own;
  for_packs<size>(width, [&](std::int64_t i) { own.add(load_pack<size>(z + i)); });
  const float top = over_block<Largest, threads>(own.top);
  return {top, over_block<Added, threads>(own.total * expf(own.top - top))};
}

// to := exp(z - shift), from which `less` is taken at the label. `to` may be z.
template <int size, class G>
__device__ inline void write_gradient(const float* z, G* to, std::int64_t width, float shift,
                                      std::int64_t label, float less) {
  for_packs<size>(width, [&](std::int64_t i) {
    Pack<size> pack = load_pack<size>(z + i);
#pragma unroll
    for (int e = 0; e < size; ++e) pack.at[e] = expf(pack.at[e] - shift) - (i + e == label ? less : 0.0F);
    store_pack<size>(to + i, pack);
  });
}

// f(row index, the row, the label's column, which may be outside).
template <class F>
__device__ inline void for_rows(const Logits& logits, F&& f) {
  for (std::int64_t row = blockIdx.x; row < logits.rows; row += gridDim.x)
    f(row, logits.data + row * logits.width, logits.labels[row] - logits.first);
}

template <int size, class G>
__global__ void __launch_bounds__(threads) cross_entropy_kernel(CrossEntropy call) {
  const std::int64_t width = call.logits.width;
  for_rows(call.logits, [&](std::int64_t row, const float* z, std::int64_t label) {
    const float at_label = z[label];  // before the barriers of the softmax, after which it may be overwritten
    const auto [top, total] = softmax_of<size>(z, width);
    G* const to = static_cast<G*>(call.gradient.data);
    if (to) write_gradient<size>(z, to + row * width, width, top, label, total);
    if (threadIdx.x > 0) return;
    call.inverse[row] = 1.0F / total;
    if (call.loss != nullptr) call.loss[row] = logf(total) + top - at_label;
  });
}

template <int size>
__global__ void __launch_bounds__(threads) statistics_kernel(Logits logits, float* statistics) {
  for_rows(logits, [&](std::int64_t row, const float* z, std::int64_t column) {
    const auto [top, total] = softmax_of<size>(z, logits.width);
    if (threadIdx.x > 0) return;
    statistics[row] = top;
    statistics[logits.rows + row] = total;
    statistics[2 * logits.rows + row] = column >= 0 && column < logits.width ? z[column] : 0.0F;
  });
}

template <int size, class G>
__global__ void __launch_bounds__(threads) part_kernel(CrossEntropyOfPart call) {
  const std::int64_t width = call.logits.width;
  for_rows(call.logits, [&](std::int64_t row, const float* z, std::int64_t column) {
    write_gradient<size>(z, static_cast<G*>(call.gradient.data) + row * width, width, call.largest[row],
                         column, call.total[row]);
  });
}

// The label is left out of the sum.
template <int size>
__global__ void __launch_bounds__(threads) online_kernel(OnlineCrossEntropy call) {
  const std::int64_t rows = call.logits.rows, width = call.logits.width;
  for_rows(call.logits, [&](std::int64_t row, const float* z, std::int64_t column) {
    const bool here = column >= 0 && column < width;
    const float before = call.state[row], at_label = here ? z[column] : 0.0F;
    float top = lowest, total = 0;
    for_packs<size>(width, [&](std::int64_t i) {
      const Pack<size> pack = load_pack<size>(z + i);
#pragma unroll
      for (int e = 0; e < size; ++e) top = fmaxf(top, pack.at[e]);
    });
    top = fmaxf(before, over_block<Largest, threads>(top));
    for_packs<size>(width, [&](std::int64_t i) {
      Pack<size> pack = load_pack<size>(z + i);
#pragma unroll
      for (int e = 0; e < size; ++e) {
        pack.at[e] = i + e == column ? 0.0F : expf(pack.at[e] - top);
        total += pack.at[e];
      }
      store_pack<size>(call.exponentials + row * width + i, pack);
    });
    total = over_block<Added, threads>(total);
    if (threadIdx.x > 0) return;
    const float kept = expf(before - top);
    call.state[row] = top;
    call.state[rows + row] = call.state[rows + row] * kept + total;
    if (here) call.state[2 * rows + row] = at_label;
    call.factor[row] = kept;
  });
}

// The parts are taken in order, so that every rank gets the same bits.
struct Join {
  JoinVocabulary call;
  __device__ void operator()(std::int64_t, std::int64_t row) const {
    const auto at = [&](std::int64_t part, int what) {
      return call.parts[(part * 3 + what) * call.rows + row];
    };
    float largest = at(0, 0), total = 0, at_label = 0;
    for (std::int64_t p = 1; p < call.num_parts; ++p) largest = fmaxf(largest, at(p, 0));
    for (std::int64_t p = 0; p < call.num_parts; ++p) {
      total += at(p, 1) * expf(at(p, 0) - largest);
      at_label += at(p, 2);
    }
    call.largest[row] = largest;
    call.total[row] = total;
    call.loss[row] = logf(total) + largest - at_label;
  }
};

template <class X, class Into, int size>
struct Scale {
  AddScaled call;
  __device__ void operator()(std::int64_t, std::int64_t pack) const {
    Into* const into = static_cast<Into*>(call.into) + pack * size;
    Pack<size> values = load_pack<size>(static_cast<const X*>(call.x) + pack * size), before{};
    if (call.add) before = load_pack<size>(into);
    const float factor = *call.factor;
#pragma unroll
    for (int e = 0; e < size; ++e) values.at[e] = before.at[e] + factor * values.at[e];
    store_pack<size>(into, values);
  }
};

// f(integral_constant, blocks) with the number of logits of one access.
template <class F>
int dispatch_logits(const Logits& logits, const void* to, F&& f) {
  if (logits.rows == 0 || logits.width == 0) return 0;
  constexpr std::int64_t blocks_max = std::int64_t{1} << 16;
  const auto blocks = static_cast<unsigned>(logits.rows < blocks_max ? logits.rows : blocks_max);
  const bool packs = takes_packs<float>(logits.width, {{logits.data, logits.width}, {to, logits.width}});
  return dispatch_packs<float>(packs, [&](auto size) { return f(size, blocks); });
}
// f(integral_constant, G{}, blocks) with the type of the gradient besides.
template <class F>
int dispatch_gradient(const Logits& logits, const GradientOfLogits& gradient, F&& f) {
  return dispatch(gradient.type, [&](auto tag) {
    return dispatch_logits(logits, gradient.data,
                           [&](auto size, unsigned blocks) { return f(size, tag, blocks); });
  });
}

}  // namespace

int cross_entropy(const CrossEntropy& call, CUstream_st* stream) {
  return dispatch_gradient(call.logits, call.gradient, [&](auto size, auto tag, unsigned blocks) {
    return launch(cross_entropy_kernel<size(), decltype(tag)>, blocks, threads, 0, stream, call);
  });
}

int vocabulary_statistics(const Logits& logits, float* statistics, CUstream_st* stream) {
  return dispatch_logits(logits, nullptr, [&](auto size, unsigned blocks) {
    return launch(statistics_kernel<size()>, blocks, threads, 0, stream, logits, statistics);
  });
}

int join_vocabulary(const JoinVocabulary& call, CUstream_st* stream) {
  return launch_rows(1, call.rows, Join{call}, stream);
}

int cross_entropy_of_part(const CrossEntropyOfPart& call, CUstream_st* stream) {
  return dispatch_gradient(call.logits, call.gradient, [&](auto size, auto tag, unsigned blocks) {
    return launch(part_kernel<size(), decltype(tag)>, blocks, threads, 0, stream, call);
  });
}

int cross_entropy_online(const OnlineCrossEntropy& call, CUstream_st* stream) {
  return dispatch_logits(call.logits, call.exponentials, [&](auto size, unsigned blocks) {
    return launch(online_kernel<size()>, blocks, threads, 0, stream, call);
  });
}

int add_scaled(const AddScaled& call, CUstream_st* stream) {
  return dispatch(call.x_type, [&](auto x_tag) {
    return dispatch(call.into_type, [&](auto into_tag) {
      using X = decltype(x_tag);
      return dispatch_packs<X>(takes_packs<X>(call.count, {{call.x}, {call.into}}), [&](auto size) {
        return launch_rows(1, call.count / size, Scale<X, decltype(into_tag), size()>{call}, stream);
      });
    });
  });
}

}  // namespace d9d::cuda
