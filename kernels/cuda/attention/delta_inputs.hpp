#pragma once
// The gradients of the gated delta rule's inputs, from those of the matrices of its chunks.

#include "kernels/cuda/attention/delta_shape.hpp"

namespace d9d::cuda {

struct DeltaInputsBackward {
  ElementType type = ElementType::float32;  // of v, dq, dk, dv
  DeltaShape shape;
  float scale = 1;
  bool normalise = false;
  const void* v = nullptr;                          // heads
  const float *queries = nullptr, *keys = nullptr;  // Q and K, as in delta_chunks.hpp, as all that follow
  const float *inverse_q = nullptr, *inverse_k = nullptr;
  const float *sums = nullptr, *betas = nullptr;
  const float *states = nullptr,
              *dstates = nullptr;  // [M, group, dk, dv]: S at a chunk's begin, dS at its end
  const float *from_state = nullptr, *to_state = nullptr;  // [M, group, n, dk]: dout S^T, V' dS^T
  const float* dx = nullptr;                               // [M, group, n, dv + dk]
  const float *dsums = nullptr, *dbetas = nullptr;         // of DeltaLowerBackward
  // [M, n, dk]: dscores K, and dscores^T Q + dproducts K. Overwritten.
  float *dqueries = nullptr, *dkeys = nullptr;

  void *dq = nullptr, *dk = nullptr, *dv = nullptr;  // heads
  float *ddecay = nullptr, *dbeta = nullptr;
};
int delta_inputs_backward(const DeltaInputsBackward& call, CUstream_st* stream);

}  // namespace d9d::cuda
