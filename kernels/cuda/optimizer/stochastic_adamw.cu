// Compiled without fused multiply-adds (CMakeLists.txt), so that bits are the CPU's.
#include "kernels/cuda/optimizer/stochastic_adamw.hpp"

#include "kernels/cuda/dispatch.cuh"

namespace d9d::cuda {
namespace {

constexpr int threads = 256;
constexpr std::int64_t blocks_max = std::int64_t{1} << 16;

__device__ std::uint64_t element_of(const kernels::BlockPlace& place, std::int64_t i) {
  if (place.dims == 0) return static_cast<std::uint64_t>(place.base + i);  // one run: saves two divisions
  return static_cast<std::uint64_t>(place.begin_of_run(i / place.run) + i % place.run);
}

// f(first, its four of the tensor, its place in that) for the thread's neighbours, `size` = 1 or 4 of `count` elements;
// a four shares its random words.
template <int size, class F>
__device__ inline void for_elements(const kernels::BlockPlace& place, std::int64_t count, F&& f) {
  const std::int64_t step = std::int64_t{gridDim.x} * threads * size;
  for (std::int64_t i = (std::int64_t{blockIdx.x} * threads + threadIdx.x) * size; i < count; i += step) {
    const std::uint64_t element = element_of(place, i);
    f(i, element / 4, size == 1 ? static_cast<unsigned>(element % 4) : 0U);
  }
}

// `size` neighbours of a flat buffer in registers, read and written in one access.
template <int size, class V>
class Neighbours {
 public:
  __device__ Neighbours(V* memory, std::int64_t first)
      : memory_(memory + first), words_(load_words<size>(static_cast<const V*>(memory_))) {}
  __device__ V* values() { return reinterpret_cast<V*>(words_.word); }
  __device__ void write_back() const { store_words<size>(memory_, words_); }

 private:
  V* memory_;
  Words<size, V> words_;
};

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

template <int size, class G, class S>
__global__ void stochastic_adamw_kernel(Update<G, S> update, std::int64_t count) {
  for_elements<size>(update.noise.place, count, [&](std::int64_t i, std::uint64_t four, unsigned place) {
    const kernels::RandomWords words = update.noise.value_and_first.words(four),
                               second_words = update.second_words(four);
    Neighbours<size, std::uint16_t> value(update.buffers.value, i);
    Neighbours<size, G> grad(update.buffers.grad, i);
    Neighbours<size, S> first(update.buffers.first, i), second(update.buffers.second, i);
    const kernels::StochasticBuffers<G, S> own{value.values(), grad.values(), first.values(),
                                               second.values()};
#pragma unroll
    for (int e = 0; e < size; ++e)
      own.update_at(e, update.pass, words.at[place + e], second_words.at[place + e]);
    value.write_back();
    grad.write_back();
    first.write_back();
    second.write_back();
  });
}

template <int size>
__global__ void stochastic_copy_kernel(StochasticCopy copy) {
  for_elements<size>(copy.place, copy.count, [&](std::int64_t i, std::uint64_t four, unsigned place) {
    const kernels::RandomWords words = copy.key.words(four);
    const Pack<size> source = load_pack<size>(copy.source + i);
    Words<size, std::uint16_t> target;
#pragma unroll
    for (int e = 0; e < size; ++e)
      kernels::set_value(reinterpret_cast<std::uint16_t*>(target.word), e, source.at[e], words.at[place + e]);
    store_words<size>(copy.target + i, target);
  });
}

// True if each four neighbours that begin at a multiple of four have the words of one four of the tensor, and four
// elements of each buffer begin where they can be read at once.
bool in_fours(const kernels::BlockPlace& place, std::int64_t count,
              std::initializer_list<const void*> buffers) {
  if (count % 4 != 0 || place.run % 4 != 0 || place.base % 4 != 0) return false;
  for (const void* const buffer : buffers)
    if (reinterpret_cast<std::uintptr_t>(buffer) % 16 != 0) return false;
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
  const int size =
      in_fours(call.noise.place, call.count, {call.param, call.grad, call.exp_avg, call.exp_avg_sq}) ? 4 : 1;
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
  return in_fours(call.place, call.count, {call.source, call.target})
             ? launch(stochastic_copy_kernel<4>, blocks_for(call.count, 4), threads, 0, stream, call)
             : launch(stochastic_copy_kernel<1>, blocks_for(call.count, 1), threads, 0, stream, call);
}

}  // namespace d9d::cuda
