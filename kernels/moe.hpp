#pragma once
// Mixture of experts. T tokens, E experts, k experts per token, H hidden size, I intermediate size.

#include <ATen/core/Tensor.h>

#include <tuple>

#include "kernels/router_rule.hpp"

namespace d9d::kernels {

// Chooses the top_k experts of each token by score + bias, in descending order, ties to the lower index.
// Their weights `probs` are the scores without the bias, renormalised and scaled as the rule says.
// logits [T, E] fp32, bf16 or fp64; bias [E] or undefined, not differentiated -> probs [T, k] fp32
// (fp64 for fp64), experts [T, k] int64. The number of groups must divide E, and the kept groups
// must have top_k experts.
std::tuple<at::Tensor, at::Tensor> moe_router(const at::Tensor& logits, const RouterRule& rule,
                                              const at::Tensor& bias = {});

// Copies token rows into expert order (within an expert: by token). x [T, H], experts [T, k] int64
//   -> rows [R, H], offsets int64 [E + 1] (rows of expert e are offsets[e] .. offsets[e + 1]),
//      map int64 [T, k]: the row of (token, choice).
// Choices outside [0, num_experts) get no row and map -1, so R <= T k.
std::tuple<at::Tensor, at::Tensor, at::Tensor> moe_permute(const at::Tensor& x, const at::Tensor& experts,
                                                           int64_t num_experts);

// The two halves of moe_permute, for whoever learns the number of rows between them.
// -> offsets, map
std::tuple<at::Tensor, at::Tensor> order_rows(const at::Tensor& experts, int64_t num_experts);
// -> rows [num_rows, H]; those that the map does not name are not written.
at::Tensor spread_rows(const at::Tensor& x, const at::Tensor& map, int64_t num_rows);

// Owner o of experts has those from o * per_owner on -> int64 [T, k]: the owner of each choice, -1 where an earlier
// choice of the token has the same one. experts int64 [T, k], not negative.
at::Tensor choice_owners(const at::Tensor& experts, int64_t per_owner);

// y[t] = sum_j probs[t, j] rows[map[t, j]], summed in fp32. rows [R, H], probs [T, k], map [T, k] -> [T, H].
at::Tensor moe_unpermute(const at::Tensor& rows, const at::Tensor& probs, const at::Tensor& map);

// Multiplies rows offsets[e] .. offsets[e + 1] by weight[e]^T. rows [R, K], weight [E, N, K], offsets
// int64 [E + 1] on the host -> [R, N]. Adds bias[e] to these rows; bias [E, N] or undefined. An expert without rows
// costs nothing, and its gradients are zero.
at::Tensor grouped_linear(const at::Tensor& rows, const at::Tensor& weight, const at::Tensor& offsets,
                          const at::Tensor& bias = {});

// permute -> gate and up -> silu_mul -> down -> unpermute, with fewer passes over memory. x [T, H], probs and
// experts [T, k], gate and up [E, I, H], down [E, H, I] -> [T, H]. `offsets`: becomes that of moe_permute.
at::Tensor moe_experts(const at::Tensor& x, const at::Tensor& probs, const at::Tensor& experts,
                       const at::Tensor& gate, const at::Tensor& up, const at::Tensor& down,
                       at::Tensor* offsets = nullptr);

}  // namespace d9d::kernels
