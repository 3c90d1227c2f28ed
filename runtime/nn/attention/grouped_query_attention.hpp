#pragma once
// Grouped-query attention (Ainslie et al. 2023, arXiv 2305.13245) with rotary embedding. Options add an RMS norm of
// queries and keys before the embedding, another scale than head_dim^-1/2, sinks (kernels/attention/sinks.hpp), a bias
// of the scores (attention_bias.hpp), with the embedding or in its place, and an output gate (Qiu et al. 2025, arXiv
// 2505.06708). With a gate q_proj is twice as wide: each head's query is followed by its gate, and the head's output is
// multiplied with the sigmoid of the gate before o_proj.

#include <optional>

#include "kernels/attention/rope.hpp"
#include "runtime/nn/attention/attention.hpp"
#include "runtime/nn/attention/attention_bias.hpp"
#include "runtime/nn/block/block_options.hpp"
#include "runtime/nn/block/leaf.hpp"

namespace d9d {

class GroupedQueryAttention final : public Attention {
 public:
  GroupedQueryAttention(ParameterMaker& make, const AttentionOptions& options);

  at::Tensor forward(const at::Tensor& x, const at::Tensor& cos, const at::Tensor& sin,
                     const at::Tensor& document_starts = {}) const override;
  std::unique_ptr<BlockCache> make_cache(const CacheSize& size) const override;
  at::Tensor forward_cached(const at::Tensor& x, const at::Tensor& cos, const at::Tensor& sin,
                            BlockCache& cache, const NewTokens& tokens) const override;
  // Shards q_proj and o_proj by heads, and k_proj and v_proj as well when the ranks divide the key heads.
  // Otherwise those two stay whole, and this rank's queries read one of their heads.
  void shard(TensorParallel& tensor, const ActivationShards& tokens) override;
  std::int64_t num_heads() const override { return num_heads_; }
  // Input error when the block has a bias and this core takes none.
  void set_core(std::shared_ptr<const AttentionCore> core) override;
  // Gives the block a bias of a model's own, in place of that of its options. Call it before shard() and set_core().
  void set_bias(std::shared_ptr<AttentionBias> bias) { bias_ = std::move(bias); }

 private:
  at::Tensor attended(const at::Tensor& x, const at::Tensor& cos, const at::Tensor& sin,
                      const AttentionCore& core, const at::Tensor& document_starts = {}) const;
  kernels::ProjectedHeads rotated(const kernels::ProjectedHeads& heads, const at::Tensor& cos,
                                  const at::Tensor& sin) const;
  at::Tensor key_heads(const at::Tensor& rows, std::int64_t dim) const;

  AttentionOptions options_;
  std::int64_t num_heads_;
  std::shared_ptr<Linear> q_proj_, k_proj_, v_proj_, o_proj_;
  at::Tensor sinks_;                          // [heads of this rank]; may be undefined
  std::shared_ptr<AttentionBias> bias_;       // may be null
  std::shared_ptr<RmsNorm> q_norm_, k_norm_;  // null without qk_norm
  std::shared_ptr<const AttentionCore> core_ = std::make_shared<LocalAttention>();
  ActivationShards tokens_;
  std::optional<std::int64_t> key_head_;  // the one head that this rank's queries read; none: all
};

}  // namespace d9d
