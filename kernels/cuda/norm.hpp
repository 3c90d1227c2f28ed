#pragma once
// RMSNorm (Zhang and Sennrich 2019, eq. 4), forward and backward.

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
};
int rms_norm(const RmsNorm& call, CUstream_st* stream);

// dx = inverse * g - x * inverse^3 * mean(g * x) + extra, with g = dy * (weight + offset). `extra` may be null.
struct RmsNormDx {
  ElementType type = ElementType::float32;
  std::int64_t rows = 0;
  std::int64_t width = 0;
  ConstRows dy;
  ConstRows x;
  ConstRows extra;
  const void* weight = nullptr;  // [width]
  float offset = 0;
  const float* inverse = nullptr;
  void* dx = nullptr;  // [rows, width], dense
};
int rms_norm_dx(const RmsNormDx& call, CUstream_st* stream);

// Slab by slab of rows, the sums of dy * x * inverse: partial [rms_norm_slabs(rows), width]. See column_sums.hpp.
struct RmsNormDw {
  ElementType type = ElementType::float32;
  std::int64_t rows = 0;
  std::int64_t width = 0;
  ConstRows dy;
  ConstRows x;
  const float* inverse = nullptr;
  float* partial = nullptr;
};
int rms_norm_dw(const RmsNormDw& call, CUstream_st* stream);
std::int64_t rms_norm_slabs(std::int64_t rows);

}  // namespace d9d::cuda
