#pragma once
// The gradients of an expert's rows: of scale * silu(gate) * up.

#include "kernels/cuda/launch.hpp"

namespace d9d::cuda {

// All [rows, width], dense; scale and d_scale [rows]. grad is of silu(gate) * up, before it was scaled.
struct WeightedSilu {
  ElementType type = ElementType::float32;
  std::int64_t rows = 0, width = 0;
  const float* scale = nullptr;
  const void* grad = nullptr;
  const void* gate = nullptr;
  const void* up = nullptr;
  void* d_gate = nullptr;
  void* d_up = nullptr;
  void* weighted = nullptr;  // scale * silu(gate) * up
  float* d_scale = nullptr;
};
int weighted_silu_backward(const WeightedSilu& call, CUstream_st* stream);

}  // namespace d9d::cuda
