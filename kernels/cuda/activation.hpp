#pragma once
// Gated activations (Shazeer 2020): silu or gelu of the gate, times up, and their gradients.

#include "kernels/cuda/launch.hpp"

namespace d9d::cuda {

enum class Activation { silu, gelu_tanh, gelu_erf };

// out = activation(gate) * up; the activation in fp32, rounded to the element type before the product.
struct GatedMul {
  Activation activation = Activation::silu;
  ElementType type = ElementType::float32;
  std::int64_t rows = 0;
  std::int64_t width = 0;
  ConstRows gate;
  ConstRows up;
  ConstRows d_out;         // backward only
  void* out = nullptr;     // forward: [rows, width], dense
  void* d_gate = nullptr;  // backward: [rows, width], rows d_stride elements apart
  void* d_up = nullptr;
  std::int64_t d_stride = 0;
};
int gated_mul(const GatedMul& call, CUstream_st* stream);
int gated_mul_backward(const GatedMul& call, CUstream_st* stream);

}  // namespace d9d::cuda
