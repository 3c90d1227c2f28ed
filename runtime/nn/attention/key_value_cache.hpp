#pragma once
// Keys and values of earlier tokens, for every block that attends by an AttentionCore. They are kept as
// attention reads them: after norm and rotary embedding, with the tokens of a head adjacent. A window limits
// which keys are read, not which are kept.

#include "runtime/nn/attention/attention_core.hpp"
#include "runtime/nn/attention/block_cache.hpp"

namespace d9d {

class KeyValueCache final : public BlockCache {
 public:
  explicit KeyValueCache(const CacheSize& size) : size_(size) {}

  // Stores the new tokens' keys [1, T, Hkv, D] and values [1, T, Hkv, Dv], then attends over all tokens of
  // their sequences: q [1, T, Hq, D] -> [1, T, Hq, Dv]. No gradients.
  at::Tensor attend(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, const AttentionRule& rule,
                    const NewTokens& tokens);

 private:
  at::Tensor whole_stretch(const at::Tensor& q, const kernels::CacheStretch& stretch,
                           const AttentionRule& rule) const;

  CacheSize size_;
  at::Tensor keys_, values_;  // [N, Hkv, C, D and Dv]; undefined before the first pass
};

// Lets a block attend over a cache, for one pass.
class CachedAttention final : public AttentionCore {
 public:
  // Keeps references to both. It is a bug when `cache` is no KeyValueCache.
  CachedAttention(BlockCache& cache, const NewTokens& tokens);
  at::Tensor attend(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                    const AttentionRule& rule) const override {
    return cache_.attend(q, k, v, rule, tokens_);
  }

 private:
  KeyValueCache& cache_;
  const NewTokens& tokens_;
};

}  // namespace d9d
