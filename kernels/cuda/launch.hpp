#pragma once
// The kernels as plain functions: raw device pointers, sizes, a stream. No torch, no CUDA headers; the .cu
// files implement it. All return a cudaError_t as int, 0 for success.

#include <cstdint>

struct CUstream_st;

namespace d9d::cuda {

enum class ElementType { float32, bfloat16 };

// Rows of `width` elements, `stride` apart; elements of a row are neighbours.
struct ConstRows {
  const void* data = nullptr;
  std::int64_t stride = 0;
};

// y = (x + residual) * inverse * (weight + offset), inverse = 1 / sqrt(mean(.^2) + eps) per row in fp32.
// `residual` may be null; then `sum` is too. sum = x +
// residual in the element type, and it is what is normed.
struct RmsNormForward {
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
int rms_norm_forward(const RmsNormForward& call, CUstream_st* stream);

// dx = inverse * g - x * inverse^3 * mean(g * x) + extra, with g = dy * (weight + offset). `extra` may be
// null. dw[j] = sum over rows of dy * x * inverse, in fp32 and in a fixed order; skipped when null.
struct RmsNormBackward {
  ElementType type = ElementType::float32;
  std::int64_t rows = 0;
  std::int64_t width = 0;
  ConstRows dy;
  ConstRows x;
  ConstRows extra;
  const void* weight = nullptr;
  float offset = 0;
  const float* inverse = nullptr;
  void* dx = nullptr;        // [rows, width], dense
  float* dw = nullptr;       // [width]
  float* partial = nullptr;  // scratch [rms_norm_partials(rows), width] where dw is wanted
};
int rms_norm_backward(const RmsNormBackward& call, CUstream_st* stream);
std::int64_t rms_norm_partials(std::int64_t rows);

// out = silu(gate) * up; silu in fp32, rounded to the element type before the product.
struct SiluMul {
  ElementType type = ElementType::float32;
  std::int64_t rows = 0;
  std::int64_t width = 0;
  ConstRows gate;
  ConstRows up;
  ConstRows d_out;         // backward only
  void* out = nullptr;     // forward: [rows, width], dense
  void* d_gate = nullptr;  // backward: [rows, width], dense
  void* d_up = nullptr;
};
int silu_mul_forward(const SiluMul& call, CUstream_st* stream);
int silu_mul_backward(const SiluMul& call, CUstream_st* stream);

}  // namespace d9d::cuda
