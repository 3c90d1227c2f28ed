#pragma once
// The ops of decoder layers on new tokens, with a cache of the earlier ones. New tokens of several
// sequences are packed one sequence after the other, as CacheStretches say. Results are zero for tokens
// after the last stretch. fp32, bf16 or fp64. No gradients.

#include <ATen/core/Tensor.h>

#include "kernels/ops/cache_ops.hpp"

namespace d9d::kernels {

// Writes rows [T, H, D] of the new tokens to their sequence, head and position in cache [N, H, C, D].
void write_cache(const at::Tensor& rows, const at::Tensor& cache, const CacheStretches& stretches);

// Causal attention (attention.hpp) of queries [T, Hq, D] over keys [N, Hkv, C, D] and values [N, Hkv, C,
// Dv] -> [T, Hq, Dv]. Call write_cache() first: keys and values must contain the new tokens. With window
// > 0 a token sees the last `window` keys, including its own. Keys are read once for each query, so
// attention() is faster for many new tokens of one sequence.
at::Tensor cached_attention(const at::Tensor& q, const at::Tensor& keys, const at::Tensor& values,
                            const CacheStretches& stretches, int64_t window, double scale);

// The gated delta rule (delta_rule.hpp) token by token: q, k [T, Hk, Dk], v [T, Hv, Dv], decay and beta [T,
// Hv] -> [T, Hv, Dv]. state [N, Hv, Dk, Dv] in fp32, or fp64, is the state after the `past` tokens, and is
// advanced by the new ones.
at::Tensor delta_rule_steps(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                            const at::Tensor& decay, const at::Tensor& beta, const at::Tensor& state,
                            const CacheStretches& stretches, const DeltaRuleOptions& options);

}  // namespace d9d::kernels
