#pragma once
// The section `model_provider.model` of DeepSeek-V3: Hugging Face's keys. Absent keys come from `from`, then
// from Hugging Face's defaults.

#include <boost/describe/class.hpp>

#include <array>

#include "runtime/family/causal_lm_section.hpp"
#include "runtime/family/expert_keys.hpp"

namespace d9d {

struct DeepseekV3Section : CausalLmSection {
  std::optional<std::int64_t> q_lora_rank, kv_lora_rank;
  std::optional<std::int64_t> qk_nope_head_dim, qk_rope_head_dim, v_head_dim;
  std::optional<bool> rope_interleave;
  std::optional<std::int64_t> moe_intermediate_size, n_routed_experts, n_shared_experts, num_experts_per_tok;
  std::optional<bool> norm_topk_prob;
  std::optional<std::int64_t> n_group, topk_group, first_k_dense_replace, num_nextn_predict_layers;
  std::optional<double> routed_scaling_factor, router_bias_update_rate, mtp_loss_factor;
  std::optional<nlohmann::json> scoring_func, topk_method, moe_layer_freq;
};
BOOST_DESCRIBE_STRUCT(DeepseekV3Section, (CausalLmSection),
                      (q_lora_rank, kv_lora_rank, qk_nope_head_dim, qk_rope_head_dim, v_head_dim,
                       rope_interleave, moe_intermediate_size, n_routed_experts, n_shared_experts,
                       num_experts_per_tok, norm_topk_prob, n_group, topk_group, routed_scaling_factor,
                       first_k_dense_replace, num_nextn_predict_layers, scoring_func, topk_method,
                       moe_layer_freq, router_bias_update_rate, mtp_loss_factor))

namespace deepseek_v3_keys {
using config::at_least;
using config::Key;
inline constexpr Key q_lora_rank{"q_lora_rank", "",
                                 "width of the queries' latent; 0: they have none; null: 0", config::optional,
                                 at_least(0)};
inline constexpr Key kv_lora_rank{"kv_lora_rank", "",
                                  "width of the latent of keys and values; required without `from`",
                                  config::optional, at_least(1)};
inline constexpr Key qk_nope_head_dim{"qk_nope_head_dim", "",
                                      "width of a head's part without positions; required without `from`",
                                      config::optional, at_least(1)};
inline constexpr Key qk_rope_head_dim{"qk_rope_head_dim", "",
                                      "width of a head's part with RoPE, even; required without `from`",
                                      config::optional, at_least(2)};
inline constexpr Key v_head_dim{
    "v_head_dim", "", "width of a head's values, at most that of its queries; required without `from`",
    config::optional, at_least(1)};
inline constexpr Key rope_interleave{
    "rope_interleave", "", "RoPE turns neighbouring elements, not those half a head apart; null: true"};
inline constexpr Key num_nextn_predict_layers{"num_nextn_predict_layers", "layers",
                                              "modules of multi-token prediction behind the layers, each for "
                                              "one more token; without mtp_loss_factor they are not read, "
                                              "trained or exported, as are more modules in a folder; null: 0",
                                              config::optional, at_least(0)};
inline constexpr Key mtp_loss_factor{
    "mtp_loss_factor", "",
    "weight of the mean loss of multi-token prediction beside that of the next token; not of transformers; "
    "DeepSeek-V3 was trained with 0.3, at last 0.1; null: 0, the modules do not train",
    config::optional, at_least(0)};
inline constexpr Key renormalise{"norm_topk_prob", "", "divide the chosen scores by their sum; null: true"};
inline constexpr Key scoring_func{"scoring_func", "", "only sigmoid"};
inline constexpr Key topk_method{"topk_method", "", "only noaux_tc"};
inline constexpr Key moe_layer_freq{"moe_layer_freq", "", "only 1"};
}  // namespace deepseek_v3_keys

constexpr auto keys_of(config::Tag<DeepseekV3Section>) {
  using namespace model_keys;
  using namespace deepseek_v3_keys;
  return config::join(
      keys_of(config::Tag<CausalLmSection>{}),
      std::array{q_lora_rank,      kv_lora_rank,          qk_nope_head_dim,      qk_rope_head_dim,
                 v_head_dim,       rope_interleave,       moe_intermediate_size, n_routed_experts,
                 n_shared_experts, num_experts_per_tok,   renormalise,           n_group,
                 topk_group,       routed_scaling_factor, first_k_dense_replace, num_nextn_predict_layers,
                 scoring_func,     topk_method,           moe_layer_freq,        router_bias_update_rate,
                 mtp_loss_factor});
}

}  // namespace d9d
