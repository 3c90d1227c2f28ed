// Forward: a thread a number. Backward: a block 32 heads over a slab of tokens, each of its warps every eighth token.
#include "kernels/cuda/attention/delta_gates.hpp"

#include "kernels/cuda/activations.cuh"
#include "kernels/cuda/column_sums.hpp"
#include "kernels/cuda/row_grid.cuh"

namespace d9d::cuda {
namespace {

__device__ inline float softplus(float x) {
  return (x > 0.0F ? x : 0.0F) + log1pf(expf(-fabsf(x)));
}

// A head of a token.
template <class T>
struct Gate {
  std::int64_t b, a;  // where they lie in gates
  float sign = 1, x = 0, scale = 0;

  // decay = scale * softplus(x), and x = sign * a + bias.
  __device__ Gate(const DeltaGates& call, std::int64_t token, std::int64_t head) {
    const std::int64_t key_head = token * call.key_heads + head / call.group;
    b = key_head * 2 * call.group + head % call.group;
    a = b + call.group;
    const float number = load(static_cast<const T*>(call.gates), a);
    if (call.log_rate) {
      x = number + load(static_cast<const T*>(call.bias), head);
      scale = -expf(load(static_cast<const T*>(call.log_rate), head));
    } else {
      sign = -1, x = -number, scale = -1.0F / call.normalizer;
    }
  }
};

template <class T>
struct Forward {
  DeltaGates call;
  __device__ void operator()(std::int64_t token, std::int64_t head) const {
    const Gate<T> gate(call, token, head);
    const std::int64_t at = token * call.key_heads * call.group + head;
    call.decay[at] = gate.scale * softplus(gate.x);
    call.beta[at] = sigmoid<float>(load(static_cast<const T*>(call.gates), gate.b));
  }
};

constexpr int threads = 256, tile = 32, parts = threads / tile;
constexpr std::int64_t least_slab = 64;
struct RateSums;
struct BiasSums;

template <class T>
__global__ void __launch_bounds__(threads)
    delta_gates_backward_kernel(DeltaGatesBackward call, std::int64_t slab) {
  float* const rates = shared_array<float, threads, RateSums>();
  float* const biases = shared_array<float, threads, BiasSums>();
  const int lane = threadIdx.x % tile, part = threadIdx.x / tile;
  const std::int64_t heads = call.of.key_heads * call.of.group, head = std::int64_t{blockIdx.x} * tile + lane;
  const std::int64_t begin = blockIdx.y * slab, end = min(begin + slab, call.of.tokens);
  float rate = 0, bias = 0;
  if (head < heads) {
    T* const dgates = static_cast<T*>(call.dgates);
    for (std::int64_t token = begin + part; token < end; token += parts) {
      const Gate<T> gate(call.of, token, head);
      const std::int64_t at = token * heads + head;
      const float scaled = call.ddecay[at] * gate.scale, dx = scaled * sigmoid<float>(gate.x);
      rate += scaled * softplus(gate.x);
      bias += dx;
      store(dgates, gate.a, gate.sign * dx);
      const float beta = call.beta[at];
      store(dgates, gate.b, call.dbeta[at] * (1.0F - beta) * beta);
    }
  }
  rates[threadIdx.x] = rate;
  biases[threadIdx.x] = bias;
  __syncthreads();
  if (part > 0 || head >= heads || !call.partial) return;
  for (int other = 1; other < parts; ++other) {
    rate += rates[other * tile + lane];
    bias += biases[other * tile + lane];
  }
  float* const partial = call.partial + blockIdx.y * 2 * heads;
  partial[head] = rate;
  partial[heads + head] = bias;
}

}  // namespace

int delta_gates(const DeltaGates& call, CUstream_st* stream) {
  return dispatch(call.type, [&](auto tag) {
    return launch_rows(call.tokens, call.heads(), Forward<decltype(tag)>{call}, stream);
  });
}

std::int64_t delta_gates_slabs(std::int64_t tokens) {
  const std::int64_t slab = slab_of(tokens, least_slab);
  return (tokens + slab - 1) / slab;
}

int delta_gates_backward(const DeltaGatesBackward& call, CUstream_st* stream) {
  if (call.of.tokens == 0 || call.of.heads() == 0) return 0;
  const dim3 grid(static_cast<unsigned>((call.of.heads() + tile - 1) / tile),
                  static_cast<unsigned>(delta_gates_slabs(call.of.tokens)));
  return dispatch(call.of.type, [&](auto tag) {
    return launch(delta_gates_backward_kernel<decltype(tag)>, grid, threads, 0, stream, call,
                  slab_of(call.of.tokens, least_slab));
  });
}

}  // namespace d9d::cuda
