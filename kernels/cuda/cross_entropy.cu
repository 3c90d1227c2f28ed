// A block works on a row of logits: one pass for the largest, one for the exponentials.
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

template <int size>
__device__ inline float row_max(const float* z, std::int64_t width) {
  float top = lowest;
  for_packs<size>(width, [&](std::int64_t i) {
    const Pack<size> pack = load_pack<size>(z + i);
#pragma unroll
    for (int e = 0; e < size; ++e) top = fmaxf(top, pack.at[e]);
  });
  return over_block<Largest, threads>(top);
}

// The sum of exp(z - shift), column `skipped` apart, where there is 0; `write`: z := these exponentials.
template <int size, bool write>
__device__ inline float row_exponentials(float* z, std::int64_t width, float shift, std::int64_t skipped) {
  float total = 0;
  for_packs<size>(width, [&](std::int64_t i) {
    Pack<size> pack = load_pack<size>(z + i);
#pragma unroll
    for (int e = 0; e < size; ++e) {
      pack.at[e] = i + e == skipped ? 0.0F : expf(pack.at[e] - shift);
      total += pack.at[e];
    }
    if (write) store_pack<size>(z + i, pack);
  });
  return over_block<Added, threads>(total);
}

// f(row index, the row, the label's column, which may be outside).
template <class F>
__device__ inline void for_rows(const Logits& logits, F&& f) {
  for (std::int64_t row = blockIdx.x; row < logits.rows; row += gridDim.x)
    f(row, logits.data + row * logits.width, logits.labels[row] - logits.first);
}

template <int size>
__global__ void __launch_bounds__(threads, 3) cross_entropy_kernel(CrossEntropy call) {
  const std::int64_t width = call.logits.width;
  for_rows(call.logits, [&](std::int64_t row, float* z, std::int64_t label) {
    const float at_label = z[label];  // before the barriers of row_max, behind which it is overwritten
    const float top = row_max<size>(z, width);
    const float total = call.gradient ? row_exponentials<size, true>(z, width, top, -1)
                                      : row_exponentials<size, false>(z, width, top, -1);
    if (threadIdx.x > 0) return;
    if (call.gradient) z[label] -= total;
    call.inverse[row] = 1.0F / total;
    if (call.loss != nullptr) call.loss[row] = logf(total) + top - at_label;
  });
}

template <int size>
__global__ void __launch_bounds__(threads) statistics_kernel(Logits logits, float* statistics) {
  for_rows(logits, [&](std::int64_t row, float* z, std::int64_t column) {
    const float top = row_max<size>(z, logits.width);
    const float total = row_exponentials<size, false>(z, logits.width, top, -1);
    if (threadIdx.x > 0) return;
    statistics[row] = top;
    statistics[logits.rows + row] = total;
    statistics[2 * logits.rows + row] = column >= 0 && column < logits.width ? z[column] : 0.0F;
  });
}

template <int size>
__global__ void __launch_bounds__(threads)
    part_kernel(Logits logits, const float* largest, const float* total) {
  for_rows(logits, [&](std::int64_t row, float* z, std::int64_t column) {
    row_exponentials<size, true>(z, logits.width, largest[row], -1);
    if (threadIdx.x == 0 && column >= 0 && column < logits.width) z[column] -= total[row];
  });
}

template <int size>
__global__ void __launch_bounds__(threads) online_kernel(Logits logits, float* state, float* factor) {
  for_rows(logits, [&](std::int64_t row, float* z, std::int64_t column) {
    const bool here = column >= 0 && column < logits.width;
    const float before = state[row], at_label = here ? z[column] : 0.0F;
    const float top = fmaxf(before, row_max<size>(z, logits.width));
    const float total = row_exponentials<size, true>(z, logits.width, top, here ? column : -1);
    if (threadIdx.x > 0) return;
    const float kept = expf(before - top);
    state[row] = top;
    state[logits.rows + row] = state[logits.rows + row] * kept + total;
    if (here) state[2 * logits.rows + row] = at_label;
    factor[row] = kept;
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
int dispatch_logits(const Logits& logits, F&& f) {
  if (logits.rows == 0 || logits.width == 0) return 0;
  constexpr std::int64_t blocks_max = std::int64_t{1} << 16;
  const auto blocks = static_cast<unsigned>(logits.rows < blocks_max ? logits.rows : blocks_max);
  const bool packs = takes_packs<float>(logits.width, {{logits.data, logits.width}});
  return dispatch_packs<float>(packs, [&](auto size) { return f(size, blocks); });
}

}  // namespace

int cross_entropy(const CrossEntropy& call, CUstream_st* stream) {
  return dispatch_logits(call.logits, [&](auto size, unsigned blocks) {
    return launch(cross_entropy_kernel<size()>, blocks, threads, 0, stream, call);
  });
}

int vocabulary_statistics(const Logits& logits, float* statistics, CUstream_st* stream) {
  return dispatch_logits(logits, [&](auto size, unsigned blocks) {
    return launch(statistics_kernel<size()>, blocks, threads, 0, stream, logits, statistics);
  });
}

int join_vocabulary(const JoinVocabulary& call, CUstream_st* stream) {
  return launch_rows(1, call.rows, Join{call}, stream);
}

int cross_entropy_of_part(const Logits& logits, const float* largest, const float* total,
                          CUstream_st* stream) {
  return dispatch_logits(logits, [&](auto size, unsigned blocks) {
    return launch(part_kernel<size()>, blocks, threads, 0, stream, logits, largest, total);
  });
}

int cross_entropy_online(const Logits& logits, float* state, float* factor, CUstream_st* stream) {
  return dispatch_logits(logits, [&](auto size, unsigned blocks) {
    return launch(online_kernel<size()>, blocks, threads, 0, stream, logits, state, factor);
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
