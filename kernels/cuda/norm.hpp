#pragma once
// RMSNorm (Zhang and Sennrich 2019, eq. 4) and LayerNorm without a bias (Ba et al. 2016), forward and backward.

#include "kernels/cuda/launch.hpp"

namespace d9d::cuda {

// y = (x + residual) * inverse * (weight + offset), inverse = 1 / sqrt(mean(.^2) + eps) per row in fp32.
// `residual` may be null; then `sum` is too. sum = x + residual in the element type, and it is what is normed.
struct RmsNorm {
  ElementType type = ElementType::float32;
  std::int64_t rows = 0;
  std::int64_t width = 0;
  ConstRows x;
  ConstRows residual;
  const void* weight = nullptr;  // [width]
  float eps = 0;
  float offset = 0;          // 1 for zero-centered weights
  void* sum = nullptr;       // [rows, width], dense
  void* y = nullptr;         // [rows, width], dense
  float* inverse = nullptr;  // [rows]
  float* mean = nullptr;     // [rows], of a LayerNorm: y = (. - mean) * inverse * weight; null: RMSNorm
};
int rms_norm(const RmsNorm& call, CUstream_st* stream);

// dx = inverse * g - x * inverse^3 * mean(g * x) + extra, with g = dy * (weight + offset). `extra` may be null.
// partial: sums of dy * x * inverse over some rows each, for column_sums.hpp; null if they are not wanted.
struct RmsNormBackward {
  ElementType type = ElementType::float32;
  std::int64_t rows = 0;
  std::int64_t width = 0;
  ConstRows dy;
  ConstRows x;
  ConstRows extra;
  const void* weight = nullptr;  // [width]
  float offset = 0;
  const float* inverse = nullptr;
  const float* mean = nullptr;  // of a LayerNorm: x is x - mean above, and g is g - mean(g); else null
  void* dx = nullptr;           // [rows, width], dense
  float* partial = nullptr;     // [rms_norm_partials(call), width]
};
int rms_norm_backward(const RmsNormBackward& call, CUstream_st* stream);
// Depends on shapes and addresses only.
std::int64_t rms_norm_partials(const RmsNormBackward& call);

}  // namespace d9d::cuda
