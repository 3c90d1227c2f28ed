#pragma once
// How tokens choose experts, and the gradient of it. See kernels/router_rule.hpp.

#include "kernels/cuda/launch.hpp"
#include "kernels/router_rule.hpp"

namespace d9d::cuda {

constexpr std::int64_t router_experts_max = 1024;

struct Router {
  ElementType type = ElementType::float32;  // of the logits
  std::int64_t tokens = 0;
  int experts = 0;
  kernels::RouterRule rule;
  const void* logits = nullptr;    // [tokens, experts], dense
  const float* bias = nullptr;     // [experts], may be null
  float* scores = nullptr;         // [tokens, experts]
  float* probs = nullptr;          // [tokens, top_k]
  std::int64_t* chosen = nullptr;  // [tokens, top_k]
};
int router(const Router& call, CUstream_st* stream);

struct RouterBackward {
  std::int64_t tokens = 0;
  int experts = 0;
  kernels::RouterRule rule;
  const float* d_probs = nullptr;        // [tokens, top_k]
  const float* scores = nullptr;         // [tokens, experts]
  const std::int64_t* chosen = nullptr;  // [tokens, top_k]
  float* d_logits = nullptr;             // [tokens, experts]
};
int router_backward(const RouterBackward& call, CUstream_st* stream);

}  // namespace d9d::cuda
