// silu(gate) * up (Shazeer 2020, SwiGLU) and its gradients, elementwise over strided rows.
#include "kernels/cuda/elements.cuh"

namespace d9d::cuda {
namespace {

constexpr int threads = 256;
constexpr std::int64_t blocks_max = std::int64_t{1} << 16;

__device__ float sigmoid(float x) {
  return 1.0F / (1.0F + __expf(-x));
}

template <class T>
__global__ void forward_kernel(SiluMul call) {
  const std::int64_t count = call.rows * call.width;
  const std::int64_t step = std::int64_t{gridDim.x} * threads;
  for (std::int64_t i = std::int64_t{blockIdx.x} * threads + threadIdx.x; i < count; i += step) {
    const std::int64_t row = i / call.width;
    const std::int64_t column = i - row * call.width;
    const float gate = load(row_of<T>(call.gate, row), column);
    const float silu = rounded<T>(gate * sigmoid(gate));
    store(static_cast<T*>(call.out), i, silu * load(row_of<T>(call.up, row), column));
  }
}

template <class T>
__global__ void backward_kernel(SiluMul call) {
  const std::int64_t count = call.rows * call.width;
  const std::int64_t step = std::int64_t{gridDim.x} * threads;
  for (std::int64_t i = std::int64_t{blockIdx.x} * threads + threadIdx.x; i < count; i += step) {
    const std::int64_t row = i / call.width;
    const std::int64_t column = i - row * call.width;
    const float d = load(row_of<T>(call.d_out, row), column);
    const float gate = load(row_of<T>(call.gate, row), column);
    const float up = load(row_of<T>(call.up, row), column);
    const float s = sigmoid(gate);
    store(static_cast<T*>(call.d_up), i, d * rounded<T>(gate * s));
    store(static_cast<T*>(call.d_gate), i, d * up * (s + gate * s * (1.0F - s)));
  }
}

unsigned blocks_for(const SiluMul& call) {
  const std::int64_t blocks = (call.rows * call.width + threads - 1) / threads;
  return static_cast<unsigned>(blocks < blocks_max ? blocks : blocks_max);
}

}  // namespace

int silu_mul_forward(const SiluMul& call, CUstream_st* stream) {
  if (call.rows * call.width == 0) return 0;
  return dispatch(call.type, [&](auto tag) {
    forward_kernel<decltype(tag)><<<blocks_for(call), threads, 0, stream>>>(call);
    return static_cast<int>(cudaGetLastError());
  });
}

int silu_mul_backward(const SiluMul& call, CUstream_st* stream) {
  if (call.rows * call.width == 0) return 0;
  return dispatch(call.type, [&](auto tag) {
    backward_kernel<decltype(tag)><<<blocks_for(call), threads, 0, stream>>>(call);
    return static_cast<int>(cudaGetLastError());
  });
}

}  // namespace d9d::cuda
