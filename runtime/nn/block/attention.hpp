#pragma once
// Causal grouped-query attention (Ainslie et al. 2023, arXiv 2305.13245) with RMS norm of queries and keys
// before rotary embedding, as Qwen3 has it. Scale = head_dim^-1/2.

#include "runtime/nn/block/attention_core.hpp"
#include "runtime/nn/block/leaf.hpp"
#include "runtime/nn/parallel/activation_shards.hpp"

namespace d9d {

struct AttentionOptions {
  std::int64_t hidden_size;
  std::int64_t num_heads;  // of queries; a multiple of num_kv_heads
  std::int64_t num_kv_heads;
  std::int64_t head_dim;  // even
  double norm_eps;
  bool bias;  // on all four projections
};

struct AttentionLinears {
  Linear &q, &k, &v, &o;
};

class GroupedQueryAttention : public torch::nn::Module {
 public:
  GroupedQueryAttention(ParameterMaker& make, const AttentionOptions& options);

  // x [B, S, H]; cos and sin as RotaryTable gives them -> [B, S, H].
  at::Tensor forward(const at::Tensor& x, const at::Tensor& cos, const at::Tensor& sin) const;

  AttentionLinears linears() const { return {*q_proj_, *k_proj_, *v_proj_, *o_proj_}; }
  // From now on q_proj and o_proj hold the heads of this rank, x and the result its tokens. So do k_proj and
  // v_proj, or they are whole and `key_head` is the one that this rank's queries read.
  void share_heads(ActivationShards tokens, std::optional<std::int64_t> key_head) {
    tokens_ = std::move(tokens);
    key_head_ = key_head;
  }
  // Of a sequence whose rest is on other ranks; heads attend to its tokens there, too. Before the first
  // forward.
  void set_core(std::shared_ptr<const AttentionCore> core) { core_ = std::move(core); }

 private:
  at::Tensor key_heads(const at::Tensor& rows) const;

  AttentionOptions options_;
  std::shared_ptr<Linear> q_proj_, k_proj_, v_proj_, o_proj_;
  std::shared_ptr<RmsNorm> q_norm_, k_norm_;
  std::shared_ptr<const AttentionCore> core_ = std::make_shared<LocalAttention>();
  ActivationShards tokens_;
  std::optional<std::int64_t> key_head_;
};

}  // namespace d9d
