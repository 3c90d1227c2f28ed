#pragma once
// A causal language model of DeepSeek-V3's kind (arXiv 2412.19437): multi-head latent attention, experts chosen
// by sigmoid scores with a selection bias among groups of them, shared experts without a gate. Defaults are
// those of transformers 5.23 (DeepseekV3Config). No torch.
// head_dim is that of the part with RoPE, as in transformers, and there are as many key heads as query heads.

#include "runtime/family/sparse_decoder.hpp"

namespace d9d {

struct DeepseekV3Config final : SparseDecoder {
  DeepseekV3Config();

  std::int64_t q_lora_rank = 1536;  // 0: queries have no latent
  std::int64_t kv_lora_rank = 512;
  std::int64_t qk_nope_head_dim = 128;
  std::int64_t qk_rope_head_dim = 64;
  std::int64_t v_head_dim = 128;
  bool attention_bias = false;
  std::int64_t first_k_dense_replace = 3;  // layers without experts; the others have some
  std::int64_t n_shared_experts = 1;
  std::int64_t n_group = 8;
  std::int64_t topk_group = 4;
  double routed_scaling_factor = 2.5;
  double router_bias_update_rate = 0;         // balancing without a loss; not of transformers
  std::int64_t num_nextn_predict_layers = 0;  // in the folder, whether they train or not

  LatentAttentionOptions latent_attention() const;
  HeadWidths head_widths() const override { return {qk_nope_head_dim + qk_rope_head_dim, v_head_dim}; }
  MoeOptions moe() const override;
  BlockCosts layer(std::int64_t index, int ranks = 1) const override;
  std::shared_ptr<Attention> make_attention(ParameterMaker& make, torch::nn::Module& layer,
                                            std::int64_t index) const override;
  const ModelKeys& keys() const override;
  bool peft_takes_projections() const override { return true; }
  void settle() override;
  void validate(const std::string& where) const override;
  std::vector<std::string> tensors_outside_mlp(std::int64_t /*layer*/) const override;
  std::vector<std::string> tensors_beside_experts() const override;
  std::vector<std::string> unread_tensors(const std::set<std::string>& stored) const override;
  bool transformers_turns_pairs() const override { return true; }

  bool operator==(const DeepseekV3Config&) const = default;
};

}  // namespace d9d
