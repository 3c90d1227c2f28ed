#pragma once
// Multi-head latent attention (DeepSeek-V2, arXiv 2405.04434, eq. 9 to 19): keys and values of all heads are
// projected from one narrow latent, queries from another latent or from the input.
//   q = q_b(norm(q_a(x))), or q_proj(x) without a latent        per head: plain part, rotary part
//   (latent, k_rot) = kv_a(x);  (k_plain, v) = kv_b(norm(latent)) per head; all heads share RoPE(k_rot)
// Names as in transformers: q_a_proj, q_a_layernorm, q_b_proj (or q_proj), kv_a_proj_with_mqa,
// kv_a_layernorm, kv_b_proj, o_proj. The latents' norms have eps 1e-6, whatever the eps of the model.

#include "runtime/nn/attention/attention.hpp"
#include "runtime/nn/block/block_options.hpp"
#include "runtime/nn/block/leaf.hpp"

namespace d9d {

class LatentAttention final : public Attention {
 public:
  LatentAttention(ParameterMaker& make, const LatentAttentionOptions& options);

  // cos and sin: of a RotaryTable for rotary_dim, whose `interleaved` is that of the options.
  at::Tensor forward(const at::Tensor& x, const at::Tensor& cos, const at::Tensor& sin,
                     const at::Tensor& document_starts = {}) const override;
  std::unique_ptr<BlockCache> make_cache(const CacheSize& size) const override;
  at::Tensor forward_cached(const at::Tensor& x, const at::Tensor& cos, const at::Tensor& sin,
                            BlockCache& cache, const NewTokens& tokens) const override;
  // Shards q_b_proj (q_proj), kv_b_proj and o_proj by heads. The projections to latents stay whole: each rank
  // computes the latents of its tokens and gathers those of the others, which are narrower than the input.
  void shard(TensorParallel& tensor, const ActivationShards& tokens) override;
  std::int64_t num_heads() const override { return num_heads_; }
  void set_core(std::shared_ptr<const AttentionCore> core) override { core_ = std::move(core); }

 private:
  struct Heads {
    at::Tensor queries;  // [B, S, heads of this rank * head_dim]
    at::Tensor keys;     // latent and k_rot of all tokens [B, S, key_rank + rotary_dim]
  };
  at::Tensor attended(const at::Tensor& x, const at::Tensor& cos, const at::Tensor& sin,
                      const AttentionCore& core, const at::Tensor& document_starts = {}) const;
  Heads projected(const at::Tensor& x) const;
  at::Tensor key_latent(const at::Tensor& joint) const;

  LatentAttentionOptions options_;
  std::int64_t num_heads_;
  std::shared_ptr<Linear> q_a_proj_, kv_a_proj_, q_proj_;  // q_a_proj is null without a latent of queries
  std::shared_ptr<RmsNorm> q_a_layernorm_, kv_a_layernorm_;
  std::shared_ptr<Linear> kv_b_proj_, o_proj_;
  std::shared_ptr<const AttentionCore> core_ = std::make_shared<LocalAttention>();
  ActivationShards tokens_;
};

}  // namespace d9d
