#pragma once
// The gradients of experts' weights from what a library has written of them.

#include "kernels/cuda/launch.hpp"

namespace d9d::cuda {

// into[e] = sums[e], or += sums[e], for experts that have rows; the sums of others are never read, because a library
// need not write them: they are 0.
struct ExpertGradients {
  ElementType type = ElementType::float32;  // of `into`; sums are bf16
  std::int64_t experts = 0, elements = 0;   // of each expert
  const std::int64_t* offsets = nullptr;    // [experts + 1]
  const void* sums = nullptr;               // [experts, elements], dense, as `into`
  void* into = nullptr;
  bool adds = false;
};
int expert_gradients(const ExpertGradients& call, CUstream_st* stream);

}  // namespace d9d::cuda
