#pragma once
// Heads as chunks of the gated delta rule, and back.

#include "kernels/cuda/attention/delta_shape.hpp"

namespace d9d::cuda {

struct DeltaOpen {
  ElementType type = ElementType::float32;  // of q, k, v, dout
  DeltaShape shape;
  float scale = 1;
  bool normalise = false;
  const void *q = nullptr, *k = nullptr, *v = nullptr;  // heads
  const float *decay = nullptr, *beta = nullptr;
  const void* dout = nullptr;  // as v; null: none

  float *queries = nullptr, *keys = nullptr;         // [M, n, dk]: Q, normed and scaled, and K, normed
  float *inverse_q = nullptr, *inverse_k = nullptr;  // [M, n]: what they were normed by; 1 without
  float *sums = nullptr, *kept = nullptr, *betas = nullptr;  // [M, group, n]: G, exp(G)
  float* x = nullptr;                                        // X, [M, group, n, dv + dk]
  float *decayed_q = nullptr, *decayed_k = nullptr;          // kept Q, to_end K: [M, group, n, dk]
  float* douts = nullptr;                                    // [M, group, n, dv], of dout
};
int delta_open(const DeltaOpen& call, CUstream_st* stream);

// out, as heads of values, from out of chunks [M, group, n, dv].
struct DeltaClose {
  ElementType type = ElementType::float32;  // of out
  DeltaShape shape;
  const float* chunks = nullptr;
  void* out = nullptr;
};
int delta_close(const DeltaClose& call, CUstream_st* stream);

}  // namespace d9d::cuda
