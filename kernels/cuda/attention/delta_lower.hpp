#pragma once
// The triangular matrices of chunks of the gated delta rule, and their gradients.

#include "kernels/cuda/attention/delta_shape.hpp"

namespace d9d::cuda {

constexpr int delta_tokens_max = 96;  // of a chunk: a block keeps a matrix in shared memory

// P and T, [M, group, n, n], from K K^T and Q K^T, [M, n, n], and numbers [M, group, n]. T by forward substitution.
struct DeltaLower {
  DeltaShape shape;
  const float *products = nullptr, *scores = nullptr;
  const float *sums = nullptr, *betas = nullptr;
  float *p = nullptr, *inverse = nullptr;
};
int delta_lower(const DeltaLower& call, CUstream_st* stream);

// From the gradients of N and P, whose numbers above the diagonals do not count.
struct DeltaLowerBackward {
  DeltaShape shape;
  const float *products = nullptr, *scores = nullptr;
  const float *sums = nullptr, *betas = nullptr;
  const float *dn = nullptr, *dp = nullptr;   // [M, group, n, n]
  float* dscores = nullptr;                   // [M, n, n]: of Q K^T, of all value heads
  float* dproducts = nullptr;                 // the same of K K^T, plus its transpose
  float *dsums = nullptr, *dbetas = nullptr;  // [M, group, n]: of G and beta by N and P
};
int delta_lower_backward(const DeltaLowerBackward& call, CUstream_st* stream);

}  // namespace d9d::cuda
