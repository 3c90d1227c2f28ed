#pragma once
// Rotary embedding of heads (Su et al. 2021), with the norm of each head before it (Qwen3), and both gradients.

#include "kernels/cuda/launch.hpp"

namespace d9d::cuda {

// What forward and backward have in common. x and the like are [tokens, heads, dim]: heads are dense, tokens `stride`
// elements apart. Of pairs (a, b): a' = a cos - b sin, b' = b cos + a sin.
struct RopeHeads {
  ElementType type = ElementType::float32;
  std::int64_t tokens = 0;
  std::int64_t heads = 0;
  int dim = 0;
  int rotary = 0;               // elements that are rotated, even
  bool interleaved = false;     // pairs are 2i and 2i + 1 instead of i and i + rotary / 2
  std::int64_t angle_rows = 0;  // token t has the angles of row t % angle_rows
  const float* cos = nullptr;   // [angle_rows, rotary]
  const float* sin = nullptr;
  const void* weight = nullptr;  // [dim]; null: no norm
  float offset = 0;
};

struct Rope {
  RopeHeads shape;
  ConstRows x;  // the stride of a token
  float eps = 0;
  void* y = nullptr;
  std::int64_t y_stride = 0;
  float* inverse = nullptr;  // [tokens, heads], with a weight
};
int rope(const Rope& call, CUstream_st* stream);

struct RopeBackward {
  RopeHeads shape;
  ConstRows dy;
  ConstRows x;                     // with a weight
  const float* inverse = nullptr;  // with a weight
  void* dx = nullptr;
  std::int64_t dx_stride = 0;
  float* partial = nullptr;  // with a weight: the weight's gradient slab by slab, [rope_slabs(..), dim]
};
int rope_backward(const RopeBackward& call, CUstream_st* stream);
std::int64_t rope_slabs(const RopeHeads& shape);

}  // namespace d9d::cuda
