#pragma once
// The ops of decoding with a cache (token_cache.hpp) that each device implements. Their callers
// have checked shapes and dtypes. Tokens of a pass are packed: those of the first stretch, of the
// second, ..., then padding.

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "kernels/ops/op.hpp"
#include "kernels/ops/recurrent_ops.hpp"

namespace d9d::kernels {

// `count` new tokens of the sequence `sequence` of a cache, which holds the `past` tokens before them.
struct CacheStretch {
  int64_t sequence = 0, past = 0, count = 0;

  bool operator==(const CacheStretch&) const = default;
};
using CacheStretches = std::vector<CacheStretch>;

struct CacheOps {
  // Writes rows [T, H, D] of the new tokens to their places in cache [N, H, C, D], contiguous.
  Op<void(const at::Tensor& rows, const at::Tensor& cache, const CacheStretches& stretches)> write_cache{
      "write_cache"};
  // q [T, Hq, D], keys [N, Hkv, C, D], values [N, Hkv, C, Dv] -> [T, Hq, Dv]. keys and values are
  // contiguous and contain the new tokens. A token sees itself and the tokens before it; with window > 0
  // only the last `window` of these.
  Op<at::Tensor(const at::Tensor& q, const at::Tensor& keys, const at::Tensor& values,
                const CacheStretches& stretches, int64_t window, double scale)>
      cached_attention{"cached_attention"};
  // q, k [T, Hk, Dk], v [T, Hv, Dv], decay and beta [T, Hv] in sum_dtype -> [T, Hv, Dv]. Advances state
  // [N, Hv, Dk, Dv], contiguous in sum_dtype. Does not read options.chunk.
  Op<at::Tensor(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, const at::Tensor& decay,
                const at::Tensor& beta, const at::Tensor& state, const CacheStretches& stretches,
                const DeltaRuleOptions& options)>
      delta_rule_steps{"delta_rule_steps"};
};

}  // namespace d9d::kernels
