#pragma once
// The section `model_provider.model` of Qwen2-MoE: Hugging Face's keys. Absent keys come from `from`, then
// from Hugging Face's defaults.

#include <boost/describe/class.hpp>

#include <array>

#include "runtime/family/causal_lm_section.hpp"
#include "runtime/family/expert_keys.hpp"

namespace d9d {

struct Qwen2MoeSection : CausalLmSection {
  std::optional<bool> qkv_bias;
  std::optional<std::int64_t> moe_intermediate_size;
  std::optional<std::int64_t> shared_expert_intermediate_size;
  std::optional<std::int64_t> num_experts;
  std::optional<std::int64_t> num_experts_per_tok;
  std::optional<bool> norm_topk_prob;
  std::optional<std::int64_t> decoder_sparse_step;
  std::optional<std::vector<std::int64_t>> mlp_only_layers;
  std::optional<nlohmann::json> output_router_logits;
  std::optional<nlohmann::json> router_aux_loss_coef;
  std::optional<double> router_z_loss_coef;
};
BOOST_DESCRIBE_STRUCT(Qwen2MoeSection, (CausalLmSection),
                      (qkv_bias, moe_intermediate_size, shared_expert_intermediate_size, num_experts,
                       num_experts_per_tok, norm_topk_prob, decoder_sparse_step, mlp_only_layers,
                       output_router_logits, router_aux_loss_coef, router_z_loss_coef))
constexpr auto keys_of(config::Tag<Qwen2MoeSection>) {
  using namespace model_keys;
  return config::join(
      keys_of(config::Tag<CausalLmSection>{}),
      std::array{qkv_bias, moe_intermediate_size, shared_expert_intermediate_size, num_experts,
                 num_experts_per_tok, norm_topk_prob, decoder_sparse_step, mlp_only_layers,
                 output_router_logits, router_aux_loss_coef, router_z_loss_coef});
}

}  // namespace d9d
