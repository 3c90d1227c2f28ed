#pragma once
// Rotary position embedding (Su et al. 2021, eq. 34) of queries [B, S, Hq, D] and keys [B, S, Hkv, D].
// cos and sin are fp32 [S, R] or [B, S, R] with R <= D even: the first R elements of a head are rotated.
//   half:        pairs (i, i + R/2), angle of pair i at cos[i] and again at cos[i + R/2]    (Llama, Qwen)
//   interleaved: pairs (2i, 2i + 1), angle of pair i at cos[2i] and again at cos[2i + 1]    (GPT-J)
// Heads may be strided between tokens (views of a joint projection); results are contiguous. So are gradients, unless
// the values were given, too, and q, k and v are the columns of one projection (linear_multi): then their gradients are
// the columns of one matrix, from which the projection has those of its input and weights by one product each.

#include <ATen/core/Tensor.h>

#include <tuple>

#include "kernels/ops/attention_ops.hpp"

namespace d9d::kernels {

// Queries, keys and values [B, S, Hkv, Dv]; v passes through and may be undefined.
struct ProjectedHeads {
  at::Tensor q, k, v;
};

ProjectedHeads rope(const ProjectedHeads& heads, const at::Tensor& cos, const at::Tensor& sin,
                    RopeStyle style = RopeStyle::half);
std::tuple<at::Tensor, at::Tensor> rope(const at::Tensor& q, const at::Tensor& k, const at::Tensor& cos,
                                        const at::Tensor& sin, RopeStyle style = RopeStyle::half);

// rms_norm over each head (weights [D] and zero_centered as in norm.hpp), then rope, in one pass over q and k.
ProjectedHeads qk_norm_rope(const ProjectedHeads& heads, const at::Tensor& q_weight,
                            const at::Tensor& k_weight, double eps, const at::Tensor& cos,
                            const at::Tensor& sin, RopeStyle style = RopeStyle::half,
                            bool zero_centered = false);
std::tuple<at::Tensor, at::Tensor> qk_norm_rope(const at::Tensor& q, const at::Tensor& k,
                                                const at::Tensor& q_weight, const at::Tensor& k_weight,
                                                double eps, const at::Tensor& cos, const at::Tensor& sin,
                                                RopeStyle style = RopeStyle::half,
                                                bool zero_centered = false);

}  // namespace d9d::kernels
