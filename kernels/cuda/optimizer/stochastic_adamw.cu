// Compiled without fused multiply-adds (CMakeLists.txt), so that bits are the CPU's.
#include "kernels/cuda/optimizer/stochastic_adamw.hpp"

#include "kernels/cuda/dispatch.cuh"

namespace d9d::cuda {
namespace {

constexpr int threads = 256;
constexpr std::int64_t blocks_max = std::int64_t{1} << 16;

__device__ std::uint64_t element_of(const kernels::BlockPlace& place, std::int64_t i) {
  return static_cast<std::uint64_t>(place.begin_of_run(i / place.run) + i % place.run);
}

template <class G, class S>
struct Update {
  kernels::StochasticBuffers<G, S> buffers;
  kernels::StochasticPass pass;
  kernels::RoundingNoise noise;

  __device__ kernels::RandomWords second_words(std::uint64_t four) const {
    if constexpr (std::is_same_v<S, float>) return {};
    return noise.second.words(four);
  }
};

// `size` elements a thread, 1 or 4; four of them share their words.
template <int size, class G, class S>
__global__ void stochastic_adamw_kernel(Update<G, S> update, std::int64_t count) {
  const std::int64_t step = std::int64_t{gridDim.x} * threads * size;
  for (std::int64_t i = (std::int64_t{blockIdx.x} * threads + threadIdx.x) * size; i < count; i += step) {
    const std::uint64_t element = element_of(update.noise.place, i);
    const kernels::RandomWords words = update.noise.value_and_first.words(element / 4),
                               second = update.second_words(element / 4);
#pragma unroll
    for (int e = 0; e < size; ++e) {
      const auto word = size == 1 ? static_cast<unsigned>(element % 4) : static_cast<unsigned>(e);
      update.buffers.update_at(i + e, update.pass, words.at[word], second.at[word]);
    }
  }
}

// As above.
template <int size>
__global__ void stochastic_copy_kernel(StochasticCopy copy) {
  const std::int64_t step = std::int64_t{gridDim.x} * threads * size;
  for (std::int64_t i = (std::int64_t{blockIdx.x} * threads + threadIdx.x) * size; i < copy.count;
       i += step) {
    const std::uint64_t element = element_of(copy.place, i);
    const kernels::RandomWords words = copy.key.words(element / 4);
#pragma unroll
    for (int e = 0; e < size; ++e) {
      const auto word = size == 1 ? static_cast<unsigned>(element % 4) : static_cast<unsigned>(e);
      kernels::set_value(copy.target, i + e, copy.source[i + e], words.at[word]);
    }
  }
}

// True if each four neighbours that begin at a multiple of four have the words of one four of the tensor.
bool in_fours(const kernels::BlockPlace& place, std::int64_t count) {
  if (count % 4 != 0 || place.run % 4 != 0 || place.base % 4 != 0) return false;
  for (int dim = 0; dim < place.dims; ++dim)
    if (place.stride[dim] % 4 != 0) return false;
  return true;
}

unsigned blocks_for(std::int64_t count, int size) {
  const std::int64_t wanted = (count / size + threads - 1) / threads;
  return static_cast<unsigned>(wanted < blocks_max ? wanted : blocks_max);
}

template <class F>
int dispatch_words(ElementType type, F&& f) {
  return type == ElementType::float32 ? f(float{}) : f(std::uint16_t{});
}

}  // namespace

int stochastic_adamw(const StochasticAdamW& call, CUstream_st* stream) {
  if (call.count == 0) return 0;
  const int size = in_fours(call.noise.place, call.count) ? 4 : 1;
  const unsigned blocks = blocks_for(call.count, size);
  return dispatch_words(call.grad_type, [&](auto of_grad) {
    return dispatch_words(call.state_type, [&](auto of_state) {
      using G = decltype(of_grad);
      using S = decltype(of_state);
      const Update<G, S> update{{call.param, static_cast<G*>(call.grad), static_cast<S*>(call.exp_avg),
                                 static_cast<S*>(call.exp_avg_sq)},
                                call.pass,
                                call.noise};
      return size == 4
                 ? launch(stochastic_adamw_kernel<4, G, S>, blocks, threads, 0, stream, update, call.count)
                 : launch(stochastic_adamw_kernel<1, G, S>, blocks, threads, 0, stream, update, call.count);
    });
  });
}

int stochastic_copy(const StochasticCopy& call, CUstream_st* stream) {
  if (call.count == 0) return 0;
  return in_fours(call.place, call.count)
             ? launch(stochastic_copy_kernel<4>, blocks_for(call.count, 4), threads, 0, stream, call)
             : launch(stochastic_copy_kernel<1>, blocks_for(call.count, 1), threads, 0, stream, call);
}

}  // namespace d9d::cuda
