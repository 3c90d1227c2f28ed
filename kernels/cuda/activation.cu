#include "kernels/cuda/activation.hpp"

#include "kernels/cuda/activations.cuh"
#include "kernels/cuda/row_grid.cuh"

namespace d9d::cuda {
namespace {

template <class A, class T, int size>
struct Forward {
  GatedMul call;
  __device__ void operator()(std::int64_t row, std::int64_t pack) const {
    const std::int64_t at = pack * size;
    Pack<size> gate = load_pack<size>(row_of<T>(call.gate, row) + at);
    const Pack<size> up = load_pack<size>(row_of<T>(call.up, row) + at);
#pragma unroll
    for (int e = 0; e < size; ++e) {
      const float x = gate.at[e];
      gate.at[e] = rounded<T>(x * A::template share<T>(x)) * up.at[e];
    }
    store_pack<size>(static_cast<T*>(call.out) + row * call.width + at, gate);
  }
};

template <class A, class T, int size>
struct Backward {
  GatedMul call;
  __device__ void operator()(std::int64_t row, std::int64_t pack) const {
    const std::int64_t at = pack * size, to = row * call.d_stride + at;
    const Pack<size> d = load_pack<size>(row_of<T>(call.d_out, row) + at);
    Pack<size> gate = load_pack<size>(row_of<T>(call.gate, row) + at);
    Pack<size> up = load_pack<size>(row_of<T>(call.up, row) + at);
#pragma unroll
    for (int e = 0; e < size; ++e) {
      const float x = gate.at[e], s = A::template share<T>(x);
      gate.at[e] = d.at[e] * up.at[e] * A::template derivative<T>(x, s);
      up.at[e] = d.at[e] * rounded<T>(x * s);
    }
    store_pack<size>(static_cast<T*>(call.d_gate) + to, gate);
    store_pack<size>(static_cast<T*>(call.d_up) + to, up);
  }
};

template <template <class, class, int> class Body>
int run(const GatedMul& call, CUstream_st* stream) {
  return dispatch(call.type, [&](auto tag) {
    using T = decltype(tag);
    const std::initializer_list<ConstRows> rows = {
        call.gate, call.up, call.d_out, {call.out}, {call.d_gate, call.d_stride}, {call.d_up, call.d_stride}};
    return dispatch_packs<T>(takes_packs<T>(call.width, rows), [&](auto size) {
      const std::int64_t packs = call.width / size;
      switch (call.activation) {
        case Activation::silu:
          return launch_rows(call.rows, packs, Body<Silu, T, size()>{call}, stream);
        case Activation::gelu_tanh:
          return launch_rows(call.rows, packs, Body<GeluTanh, T, size()>{call}, stream);
        case Activation::gelu_erf:
          break;
      }
      return launch_rows(call.rows, packs, Body<GeluErf, T, size()>{call}, stream);
    });
  });
}

}  // namespace

int gated_mul(const GatedMul& call, CUstream_st* stream) {
  return run<Forward>(call, stream);
}

int gated_mul_backward(const GatedMul& call, CUstream_st* stream) {
  return run<Backward>(call, stream);
}

}  // namespace d9d::cuda
