#pragma once
// The attention half of a decoder layer, as models and strategies see it.

#include <torch/nn/module.h>

#include <memory>

#include "runtime/nn/attention/attention_core.hpp"
#include "runtime/nn/attention/block_cache.hpp"
#include "runtime/nn/shard/tensor_parallel.hpp"

namespace d9d {

class Attention : public torch::nn::Module {
 public:
  // x [B, S, H]; cos and sin as RotaryTable gives them; document_starts as in AttentionRule -> [B, S, H].
  virtual at::Tensor forward(const at::Tensor& x, const at::Tensor& cos, const at::Tensor& sin,
                             const at::Tensor& document_starts = {}) const = 0;
  // Makes the cache for generation, with room for `size`. Default: an input
  // error, the block cannot generate.
  virtual std::unique_ptr<BlockCache> make_cache(const CacheSize& size) const;
  // Computes forward() of new tokens of several sequences, x [1, T, H]. Each token sees the
  // earlier ones of its sequence through `cache`; the new ones are added to the cache. No
  // gradients. Default: the same error.
  virtual at::Tensor forward_cached(const at::Tensor& x, const at::Tensor& cos, const at::Tensor& sin,
                                    BlockCache& cache, const NewTokens& tokens) const;
  // Makes the block tensor-parallel over heads. Afterwards x and the result hold this
  // rank's tokens, as `tokens` says. Input error when the ranks cannot share the heads.
  virtual void shard(TensorParallel& tensor, const ActivationShards& tokens) = 0;
  // The number of query heads that this rank computes.
  virtual std::int64_t num_heads() const = 0;
  // Makes the block context-parallel: this rank holds some tokens of each sequence, and `core` attends over
  // all of them. Call it before the first forward.
  virtual void set_core(std::shared_ptr<const AttentionCore> core) = 0;
};

}  // namespace d9d
