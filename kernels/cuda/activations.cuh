#pragma once
// Activations x * sigmoid(argument(x)); `slope` is the derivative of the argument. As kernels/cpu/loops/activation.inl.

#include "kernels/cuda/elements.cuh"

namespace d9d::cuda {

__device__ inline float sigmoid(float x) {
  return 1.0F / (1.0F + expf(-x));
}

struct Silu {
  static __device__ float argument(float x) { return x; }
  static __device__ float slope(float) { return 1; }
};

// 0.5 x (1 + tanh(u)) = x sigmoid(2 u) with u = sqrt(2 / pi) (x + 0.044715 x^3).
struct GeluTanh {
  static constexpr float linear = 1.5957691216057307F, cubic = 0.044715F * linear;
  static __device__ float argument(float x) { return x * (linear + cubic * x * x); }
  static __device__ float slope(float x) { return linear + 3 * cubic * x * x; }
};

}  // namespace d9d::cuda
