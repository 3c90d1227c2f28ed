#pragma once
// What decoder layers compute of new tokens when a cache holds what is needed of the earlier ones. Tokens of
// several sequences are packed behind each other, as CacheStretches say; rows of the tokens behind the last
// stretch are zero in results. fp32, bf16 or fp64. No gradients.

#include <ATen/core/Tensor.h>

#include "kernels/ops/cache_ops.hpp"

namespace d9d::kernels {

// Puts rows [T, H, D] of the new tokens to their places in cache [N, H, C, D]: sequence, head, position.
void write_cache(const at::Tensor& rows, const at::Tensor& cache, const CacheStretches& stretches);

// Causal attention (attention.hpp) of queries [T, Hq, D] over keys [N, Hkv, C, D] and values [N, Hkv, C, Dv]
// that hold the new tokens already -> [T, Hq, Dv]; with a window > 0 a token sees that many keys, its own the
// last. A key is read once for each query: for many new tokens of one sequence attention() is faster.
at::Tensor cached_attention(const at::Tensor& q, const at::Tensor& keys, const at::Tensor& values,
                            const CacheStretches& stretches, int64_t window, double scale);

// The gated delta rule (delta_rule.hpp) token by token: q, k [T, Hk, Dk], v [T, Hv, Dv], decay and beta [T,
// Hv] -> [T, Hv, Dv]. state [N, Hv, Dk, Dv] in fp32, or fp64, is that behind the `past` tokens and advances.
at::Tensor delta_rule_steps(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                            const at::Tensor& decay, const at::Tensor& beta, const at::Tensor& state,
                            const CacheStretches& stretches, const DeltaRuleOptions& options);

}  // namespace d9d::kernels
