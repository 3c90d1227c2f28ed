#pragma once
// Activations x * share(x), as in kernels/cpu/loops/activation.inl. derivative(x, s): theirs, where s = share(x).

#include "kernels/cuda/elements.cuh"

namespace d9d::cuda {

// Of values that are rounded to T. For bf16 by the fast exponential and division, which are some last places of fp32
// off: the rounding has 2^16 of these. Exact ones are half of a kernel's instructions, and branches.
template <class T>
__device__ inline float sigmoid(float x) {
  if constexpr (std::is_same_v<T, float>) return 1.0F / (1.0F + expf(-x));
  return __fdividef(1.0F, 1.0F + __expf(-x));
}

// Of x * sigmoid(argument(x)); `slope` is the derivative of the argument.
template <class Argument>
struct OfSigmoid {
  template <class T>
  static __device__ float share(float x) {
    return sigmoid<T>(Argument::argument(x));
  }
  template <class T>
  static __device__ float derivative(float x, float s) {
    return s + x * s * (1.0F - s) * Argument::slope(x);
  }
};

struct SiluArgument {
  static __device__ float argument(float x) { return x; }
  static __device__ float slope(float) { return 1; }
};
using Silu = OfSigmoid<SiluArgument>;

// 0.5 x (1 + tanh(u)) = x sigmoid(2 u) with u = sqrt(2 / pi) (x + 0.044715 x^3).
struct GeluTanhArgument {
  static constexpr float linear = 1.5957691216057307F, cubic = 0.044715F * linear;
  static __device__ float argument(float x) { return x * (linear + cubic * x * x); }
  static __device__ float slope(float x) { return linear + 3 * cubic * x * x; }
};
using GeluTanh = OfSigmoid<GeluTanhArgument>;

// 0.5 x (1 + erf(x / sqrt(2))).
struct GeluErf {
  template <class T>
  static __device__ float share(float x) {
    return 0.5F * erfcf(-0.70710678118654752F * x);
  }
  template <class T>
  static __device__ float derivative(float x, float s) {
    return s + x * 0.39894228040143268F * expf(-0.5F * x * x);
  }
};

}  // namespace d9d::cuda
