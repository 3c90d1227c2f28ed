// A block opens a chunk of a value head, a warp a token of it. Chunks are closed by a thread a pack.
#include "kernels/cuda/attention/delta_chunks.hpp"

#include "kernels/cuda/attention/delta_place.cuh"
#include "kernels/cuda/row_grid.cuh"

namespace d9d::cuda {
namespace {

constexpr float norm_eps = 1e-6F;  // kernels::delta_norm_eps

// 1 / |row|, or 1. All lanes call it.
template <class T>
__device__ inline float inverse_norm(const T* row, int width, bool normalise) {
  if (!normalise) return 1.0F;
  float squares = 0;
#pragma unroll 2
  for (int j = static_cast<int>(threadIdx.x) % 32; j < width; j += 32) {
    const float x = load(row, j);
    squares += x * x;
  }
  return 1.0F / sqrtf(over_lanes<Added>(squares) + norm_eps);
}

// f(j, number) for the numbers of a row that a lane has; of zeros where the sequence has no such token.
template <class T, class F>
__device__ inline void for_row(const T* row, bool there, int width, F&& f) {
#pragma unroll 2
  for (int j = static_cast<int>(threadIdx.x) % 32; j < width; j += 32) f(j, there ? load(row, j) : 0.0F);
}

// A token's row of each tensor of chunks.
template <class T>
__device__ inline void open_token(const DeltaOpen& call, const DeltaPlace& place, int token, float sum,
                                  float last) {
  const DeltaShape& shape = call.shape;
  const std::int64_t head = blockIdx.x, matrix = head / shape.group, member = head % shape.group;
  const std::int64_t at = head * shape.tokens + token, key_at = matrix * shape.tokens + token;
  const std::int64_t row = place.row(token), value_row = row * shape.group + member;
  const bool there = token < place.there, first_lane = threadIdx.x % 32 == 0;
  const float kept = expf(sum), to_end = expf(last - sum), beta = there ? call.beta[value_row] : 0.0F;
  if (first_lane) {
    call.sums[at] = sum;
    call.kept[at] = kept;
    call.betas[at] = beta;
  }

  const T* const q = static_cast<const T*>(call.q) + row * shape.dk;
  const T* const k = static_cast<const T*>(call.k) + row * shape.dk;
  const float inverse_q = there ? inverse_norm(q, shape.dk, call.normalise) : 1.0F;
  const float inverse_k = there ? inverse_norm(k, shape.dk, call.normalise) : 1.0F;
  if (member == 0 && first_lane) {
    call.inverse_q[key_at] = inverse_q;
    call.inverse_k[key_at] = inverse_k;
  }
  for_row(q, there, shape.dk, [&](int j, float number) {
    const float normed = number * (call.scale * inverse_q);
    if (member == 0) call.queries[key_at * shape.dk + j] = normed;
    call.decayed_q[at * shape.dk + j] = kept * normed;
  });
  float* const x = call.x + at * (shape.dv + shape.dk);
  for_row(k, there, shape.dk, [&](int j, float number) {
    const float normed = number * inverse_k;
    if (member == 0) call.keys[key_at * shape.dk + j] = normed;
    call.decayed_k[at * shape.dk + j] = to_end * normed;
    x[shape.dv + j] = -beta * kept * normed;
  });
  for_row(static_cast<const T*>(call.v) + value_row * shape.dv, there, shape.dv,
          [&](int j, float number) { x[j] = beta * number; });
  if (call.dout)
    for_row(static_cast<const T*>(call.dout) + value_row * shape.dv, there, shape.dv,
            [&](int j, float number) { call.douts[at * shape.dv + j] = number; });
}

template <class T>
__global__ void __launch_bounds__(delta_threads, 4) delta_open_kernel(DeltaOpen call) {
  const DeltaShape& shape = call.shape;
  float* const sums = static_cast<float*>(dynamic_shared());  // [n]
  const std::int64_t head = blockIdx.x;
  const DeltaPlace place(shape, head / shape.group);
  for (int i = static_cast<int>(threadIdx.x); i < shape.tokens; i += delta_threads)
    sums[i] = i < place.there ? call.decay[place.row(i) * shape.group + head % shape.group] : 0.0F;
  __syncthreads();
  if (threadIdx.x == 0)
    for (int i = 1; i < shape.tokens; ++i) sums[i] += sums[i - 1];
  __syncthreads();
  for (int token = static_cast<int>(threadIdx.x) / 32; token < shape.tokens; token += delta_warps)
    open_token<T>(call, place, token, sums[token], sums[shape.tokens - 1]);
}

template <class T, int size>
struct Close {
  DeltaClose call;
  __device__ void operator()(std::int64_t row, std::int64_t pack) const {
    const DeltaShape& shape = call.shape;
    const std::int64_t value_heads = shape.key_heads * shape.group, head = row % value_heads;
    const std::int64_t token = row / value_heads % shape.length, sequence = row / value_heads / shape.length;
    const std::int64_t matrix = token / shape.tokens * shape.sequences + sequence;
    const std::int64_t from = (matrix * value_heads + head) * shape.tokens + token % shape.tokens;
    store_pack<size>(static_cast<T*>(call.out) + row * shape.dv + pack * size,
                     load_pack<size>(call.chunks + from * shape.dv + pack * size));
  }
};

}  // namespace

int delta_open(const DeltaOpen& call, CUstream_st* stream) {
  if (call.shape.value_matrices() == 0) return 0;
  const std::size_t bytes = sizeof(float) * static_cast<std::size_t>(call.shape.tokens);
  return dispatch(call.type, [&](auto tag) {
    return launch(delta_open_kernel<decltype(tag)>, static_cast<unsigned>(call.shape.value_matrices()),
                  delta_threads, bytes, stream, call);
  });
}

int delta_close(const DeltaClose& call, CUstream_st* stream) {
  const DeltaShape& shape = call.shape;
  const std::int64_t rows = shape.sequences * shape.length * shape.key_heads * shape.group;
  return dispatch(call.type, [&](auto tag) {
    using T = decltype(tag);
    return dispatch_packs<T>(takes_packs<T>(shape.dv, {{call.chunks}, {call.out}}), [&](auto size) {
      return launch_rows(rows, shape.dv / size, Close<T, size()>{call}, stream);
    });
  });
}

}  // namespace d9d::cuda
