#pragma once
// The gates of a gated delta net's heads, and their gradients. See kernels/attention/delta_gates.hpp.

#include "kernels/cuda/launch.hpp"

namespace d9d::cuda {

// gates [tokens, key_heads, 2 group], decay and beta [tokens, key_heads group], all dense.
struct DeltaGates {
  ElementType type = ElementType::float32;  // of gates, log_rate, bias, dgates
  std::int64_t tokens = 0, key_heads = 0, group = 1;
  const void* gates = nullptr;
  const void *log_rate = nullptr,
             *bias = nullptr;  // [key_heads group]; null: a logsigmoid over the normalizer
  float normalizer = 1;
  float *decay = nullptr, *beta = nullptr;

  std::int64_t heads() const { return key_heads * group; }
};
int delta_gates(const DeltaGates& call, CUstream_st* stream);

struct DeltaGatesBackward {
  DeltaGates of;  // without decay and beta
  const float *beta = nullptr, *ddecay = nullptr, *dbeta = nullptr;
  void* dgates = nullptr;
  float* partial = nullptr;  // [slabs, 2 heads]: sums over slabs of tokens for log_rate, then for bias
};
std::int64_t delta_gates_slabs(std::int64_t tokens);
int delta_gates_backward(const DeltaGatesBackward& call, CUstream_st* stream);

}  // namespace d9d::cuda
