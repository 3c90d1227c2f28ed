// A warp works on a token. Its lanes share what the token chooses by in shared memory.
#include "kernels/cuda/moe/router.hpp"

#include "kernels/cuda/activations.cuh"
#include "kernels/cuda/dispatch.cuh"
#include "kernels/cuda/sums.cuh"

namespace d9d::cuda {
namespace {

constexpr int warps = 4, threads = 32 * warps;
constexpr std::int64_t blocks_max = std::int64_t{1} << 16;
constexpr float infinity = __builtin_huge_valf();
// The tiny number that keeps a sum of vanished probabilities divisible.
constexpr float renormalise_floor = 1e-20F;

__device__ inline int lane_of_thread() {
  return static_cast<int>(threadIdx.x % 32);
}

// f(token) for the tokens of the warp.
template <class F>
__device__ inline void for_tokens(std::int64_t tokens, F&& f) {
  const std::int64_t first = std::int64_t{blockIdx.x} * warps + threadIdx.x / 32;
  for (std::int64_t token = first; token < tokens; token += std::int64_t{gridDim.x} * warps) f(token);
}

template <class T>
__device__ inline void softmax(int experts, const T* logits, float* scores) {
  float top = -infinity, total = 0;
  for (int e = lane_of_thread(); e < experts; e += 32) top = fmaxf(top, load(logits, e));
  top = over_lanes<Largest>(top);
  for (int e = lane_of_thread(); e < experts; e += 32) total += scores[e] = expf(load(logits, e) - top);
  const float scale = 1.0F / over_lanes<Added>(total);
  for (int e = lane_of_thread(); e < experts; e += 32) scores[e] *= scale;
}

// Experts of all but the best groups get -infinity. Of equal groups the first ones are kept. best [groups] is scratch.
__device__ inline void keep_best_groups(const kernels::RouterRule& rule, int experts, float* choice,
                                        float* best) {
  const int groups = static_cast<int>(rule.groups), width = experts / groups;
  for (int g = lane_of_thread(); g < groups; g += 32) {
    float first = -infinity, second = -infinity;
    for (int e = g * width; e < (g + 1) * width; ++e) {
      const float value = choice[e];
      if (value > first) {
        second = first;
        first = value;
      } else if (value > second) {
        second = value;
      }
    }
    best[g] = first + second;
  }
  __syncwarp();
  for (int g = lane_of_thread(); g < groups; g += 32) {
    int before = 0;
    for (int other = 0; other < groups; ++other)
      before += best[other] > best[g] || (best[other] == best[g] && other < g);
    if (before < rule.kept_groups) continue;
    for (int e = g * width; e < (g + 1) * width; ++e) choice[e] = -infinity;
  }
  __syncwarp();
}

// The largest of the lanes' candidates, ties to the lower index; an index below 0 is none.
__device__ inline int best_of_warp(float value, int index) {
#pragma unroll
  for (int step = 16; step > 0; step /= 2) {
    const float other = __shfl_xor_sync(0xffffffffU, value, step);
    const int other_index = __shfl_xor_sync(0xffffffffU, index, step);
    const bool better = index < 0 || other > value || (other == value && other_index < index);
    if (other_index >= 0 && better) {
      value = other;
      index = other_index;
    }
  }
  return index;
}

// The next expert by choice [experts], of those whose bit is not set in `taken`: bit j of a lane is expert lane + 32 j.
__device__ inline int next_choice(int experts, const float* choice, unsigned& taken) {
  float value = -infinity;
  int index = -1;
  for (int e = lane_of_thread(), j = 0; e < experts; e += 32, ++j) {
    if ((taken >> j & 1U) != 0) continue;
    // NaN is as -infinity, so that a broken step still has valid indices.
    if (index < 0 || choice[e] > value) {
      index = e;
      value = choice[e] == choice[e] ? choice[e] : -infinity;
    }
  }
  const int best = best_of_warp(value, index);
  if (best % 32 == lane_of_thread()) taken |= 1U << (best / 32);
  return best;
}

template <class T>
__global__ void __launch_bounds__(threads) router_kernel(Router call) {
  const kernels::RouterRule& rule = call.rule;
  const int experts = call.experts, top_k = static_cast<int>(rule.top_k);
  float* const choice = static_cast<float*>(dynamic_shared()) + threadIdx.x / 32 * 2 * experts;
  for_tokens(call.tokens, [&](std::int64_t token) {
    const T* const logits = static_cast<const T*>(call.logits) + token * experts;
    float* const scores = call.scores + token * experts;
    if (rule.sigmoid) {
      for (int e = lane_of_thread(); e < experts; e += 32) scores[e] = sigmoid<float>(load(logits, e));
    } else {
      softmax(experts, logits, scores);
    }
    for (int e = lane_of_thread(); e < experts; e += 32)
      choice[e] = scores[e] + (call.bias ? call.bias[e] : 0.0F);
    __syncwarp();
    if (rule.kept_groups < rule.groups) keep_best_groups(rule, experts, choice, choice + experts);
    float* const probs = call.probs + token * top_k;
    float norm = renormalise_floor;
    unsigned taken = 0;
    for (int j = 0; j < top_k; ++j) {
      const int expert = next_choice(experts, choice, taken);
      norm += scores[expert];
      if (lane_of_thread() > 0) continue;
      call.chosen[token * top_k + j] = expert;
      probs[j] = scores[expert];
    }
    if (lane_of_thread() == 0) {
      for (int j = 0; j < top_k; ++j) {
        if (rule.renormalise) probs[j] /= norm;
        if (rule.scale != 1) probs[j] *= static_cast<float>(rule.scale);
      }
    }
    __syncwarp();  // `choice` is the next token's
  });
}

// With scores s, selected values v_j = s[e_j], sum n, factor c and p_j = c v_j / n (or c v_j):
//   dv_j = c (dp_j - sum_i dp_i v_i / n) / n,
//   dz = s * (ds - sum_e ds_e s_e) for a softmax, s * (1 - s) * ds for sigmoids.
__global__ void __launch_bounds__(threads) backward_kernel(RouterBackward call) {
  const kernels::RouterRule& rule = call.rule;
  const int experts = call.experts, top_k = static_cast<int>(rule.top_k);
  for_tokens(call.tokens, [&](std::int64_t token) {
    const float* const scores = call.scores + token * experts;
    const float* const d_probs = call.d_probs + token * top_k;
    const std::int64_t* const chosen = call.chosen + token * top_k;
    float norm = 1, mean = 0, dot = 0;
    if (rule.renormalise) {
      norm = renormalise_floor;
      for (int j = 0; j < top_k; ++j) norm += scores[chosen[j]];
      for (int j = 0; j < top_k; ++j) mean += d_probs[j] * scores[chosen[j]];
      mean /= norm;
    }
    const float scale = static_cast<float>(rule.scale) / norm;
    const auto share = [&](int j) { return (d_probs[j] - mean) * scale * scores[chosen[j]]; };
    for (int j = 0; j < top_k; ++j) dot += share(j);
    for (int e = lane_of_thread(); e < experts; e += 32) {
      float d = rule.sigmoid ? 0.0F : -scores[e] * dot;
      for (int j = 0; j < top_k; ++j)
        if (chosen[j] == e) d += share(j) * (rule.sigmoid ? 1.0F - scores[e] : 1.0F);
      call.d_logits[token * experts + e] = d;
    }
  });
}

unsigned blocks_for(std::int64_t tokens) {
  const std::int64_t blocks = (tokens + warps - 1) / warps;
  return static_cast<unsigned>(blocks < blocks_max ? blocks : blocks_max);
}

}  // namespace

int router(const Router& call, CUstream_st* stream) {
  if (call.tokens == 0) return 0;
  return dispatch(call.type, [&](auto tag) {
    return launch(router_kernel<decltype(tag)>, blocks_for(call.tokens), threads,
                  sizeof(float) * warps * 2 * call.experts, stream, call);
  });
}

int router_backward(const RouterBackward& call, CUstream_st* stream) {
  if (call.tokens == 0) return 0;
  return launch(backward_kernel, blocks_for(call.tokens), threads, 0, stream, call);
}

}  // namespace d9d::cuda
