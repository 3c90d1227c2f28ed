// A block works on a chunk of a key head and its value heads, a warp on a token, a lane on every 32nd number of it.
#include "kernels/cuda/attention/delta_inputs.hpp"

#include "kernels/cuda/attention/delta_place.cuh"
#include "kernels/cuda/dispatch.cuh"

namespace d9d::cuda {
namespace {

// What a token of a value head adds to the gradient of G: at itself, and at the chunk's last token.
struct Shares {
  float own, last;
};

// Adds to dqueries and dkeys of the token, and writes dv and dbeta.
template <class T>
__device__ inline Shares token_backward(const DeltaInputsBackward& call, const DeltaPlace& place,
                                        std::int64_t head, int token) {
  const DeltaShape& shape = call.shape;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const std::int64_t matrix = head / shape.group, at = head * shape.tokens + token;
  const std::int64_t key_at = (matrix * shape.tokens + token) * shape.dk;
  const std::int64_t value_row = place.row(token) * shape.group + head % shape.group;
  const float sum = call.sums[at], beta = call.betas[at];
  const float kept = expf(sum), to_end = expf(call.sums[head * shape.tokens + shape.tokens - 1] - sum);
  const float* const dvalue = call.dx + at * (shape.dv + shape.dk);
  const float* const dkey = dvalue + shape.dv;

  float by_query = 0, by_key = 0, along_key = 0, along_value = 0;
#pragma unroll 2
  for (int j = lane; j < shape.dk; j += 32) {
    const float from_state = kept * call.from_state[at * shape.dk + j];
    const float to_state = to_end * call.to_state[at * shape.dk + j], k = call.keys[key_at + j];
    by_query += call.queries[key_at + j] * from_state;
    by_key += k * to_state;
    along_key += k * dkey[j];
    call.dqueries[key_at + j] += from_state;
    call.dkeys[key_at + j] += to_state - beta * kept * dkey[j];
  }
  const T* const v = static_cast<const T*>(call.v) + value_row * shape.dv;
  T* const dv = static_cast<T*>(call.dv) + value_row * shape.dv;
#pragma unroll 2
  for (int j = lane; j < shape.dv; j += 32) {
    along_value += load(v, j) * dvalue[j];
    store(dv, j, beta * dvalue[j]);
  }
  by_query = over_lanes<Added>(by_query);
  by_key = over_lanes<Added>(by_key);
  along_key = kept * over_lanes<Added>(along_key);
  along_value = over_lanes<Added>(along_value);
  if (lane == 0) call.dbeta[value_row] = call.dbetas[at] + along_value - along_key;
  return {call.dsums[at] + by_query - by_key - beta * along_key, by_key};
}

// Of a row of queries or keys, from that of the normed ones.
template <class T>
__device__ inline void norm_backward(const DeltaInputsBackward& call, const float* grad, const float* normed,
                                     float inverse, float scale, T* into) {
  const int lane = static_cast<int>(threadIdx.x) % 32, width = call.shape.dk;
  float along = 0;
  if (call.normalise) {
#pragma unroll 2
    for (int j = lane; j < width; j += 32) along += normed[j] * grad[j];
    along = over_lanes<Added>(along) * inverse / scale;
  }
#pragma unroll 2
  for (int j = lane; j < width; j += 32) store(into, j, scale * inverse * grad[j] - along * normed[j]);
}

template <class T>
__global__ void __launch_bounds__(delta_threads, 2) delta_inputs_backward_kernel(DeltaInputsBackward call) {
  const DeltaShape& shape = call.shape;
  const int thread = static_cast<int>(threadIdx.x), warp = thread / 32, n = shape.tokens;
  float* const own = static_cast<float*>(dynamic_shared());  // [n], then the gradients of the decays
  float* const last = own + n;                               // [n]
  const std::int64_t matrix = blockIdx.x;
  const DeltaPlace place(shape, matrix);
  const int there = place.there;
  for (int member = 0; member < shape.group; ++member) {
    const std::int64_t head = matrix * shape.group + member, state = head * shape.dk * shape.dv;
    for (int token = warp; token < there; token += delta_warps) {
      const Shares shares = token_backward<T>(call, place, head, token);
      if (thread % 32 == 0) own[token] = shares.own, last[token] = shares.last;
    }
    float at_end = 0;
    for (int i = thread; i < shape.dk * shape.dv; i += delta_threads)
      at_end += call.states[state + i] * call.dstates[state + i];
    at_end = over_block<Added, delta_threads>(at_end);
    if (thread == 0) {
      // Those at the last token come to all: a decay changes G from its token on.
      float sum = expf(call.sums[head * n + n - 1]) * at_end;
      for (int i = 0; i < there; ++i) sum += last[i];
      for (int i = there - 1; i >= 0; --i) own[i] = sum += own[i];
    }
    __syncthreads();
    for (int i = thread; i < there; i += delta_threads)
      call.ddecay[place.row(i) * shape.group + member] = own[i];
    __syncthreads();  // `own` is the next head's
  }
  for (int token = warp; token < there; token += delta_warps) {
    const std::int64_t at = matrix * n + token, numbers = at * shape.dk, to = place.row(token) * shape.dk;
    norm_backward(call, call.dqueries + numbers, call.queries + numbers, call.inverse_q[at], call.scale,
                  static_cast<T*>(call.dq) + to);
    norm_backward(call, call.dkeys + numbers, call.keys + numbers, call.inverse_k[at], 1.0F,
                  static_cast<T*>(call.dk) + to);
  }
}

}  // namespace

int delta_inputs_backward(const DeltaInputsBackward& call, CUstream_st* stream) {
  if (call.shape.key_matrices() == 0) return 0;
  const std::size_t bytes = 2 * sizeof(float) * static_cast<std::size_t>(call.shape.tokens);
  return dispatch(call.type, [&](auto tag) {
    return launch(delta_inputs_backward_kernel<decltype(tag)>,
                  static_cast<unsigned>(call.shape.key_matrices()), delta_threads, bytes, stream, call);
  });
}

}  // namespace d9d::cuda
