#pragma once
// The section `model_provider.model` of Qwen3. Either Hugging Face's keys (those of config.json, so that it
// can be pasted), or the original's (reference A.7: `layer`, `rope_base`, `max_position_ids` and so on); not
// both for the same thing. Absent keys come from `from`, then from Hugging Face's defaults.

#include <boost/describe/class.hpp>

#include <array>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "runtime/family/causal_lm_section.hpp"
#include "runtime/family/expert_keys.hpp"

namespace d9d {

struct DenseLayerSection {
  std::int64_t hidden_size = 0;
  std::int64_t intermediate_size = 0;
  std::int64_t num_attention_heads = 0;
  std::int64_t num_key_value_heads = 0;
  double rms_norm_eps = 0;
  std::int64_t head_dim = 0;
};
BOOST_DESCRIBE_STRUCT(DenseLayerSection, (),
                      (hidden_size, intermediate_size, num_attention_heads, num_key_value_heads, rms_norm_eps,
                       head_dim))

struct MoeLayerSection {
  std::int64_t hidden_size = 0;
  std::int64_t intermediate_size = 0;
  std::int64_t num_experts = 0;
  std::int64_t experts_top_k = 0;
  std::int64_t num_attention_heads = 0;
  std::int64_t num_key_value_heads = 0;
  double rms_norm_eps = 0;
  std::int64_t head_dim = 0;
};
BOOST_DESCRIBE_STRUCT(MoeLayerSection, (),
                      (hidden_size, intermediate_size, num_experts, experts_top_k, num_attention_heads,
                       num_key_value_heads, rms_norm_eps, head_dim))

namespace layer_keys {
using config::Key;
constexpr Key count(std::string_view name, std::string_view meaning) {
  return {name, "", meaning, config::required, config::at_least(1)};
}
inline constexpr Key hidden_size = count("hidden_size", "width of the residual stream");
inline constexpr Key num_attention_heads = count("num_attention_heads", "query heads");
inline constexpr Key num_key_value_heads = count("num_key_value_heads", "key and value heads");
inline constexpr Key rms_norm_eps{"rms_norm_eps", "", "added to the mean square", config::required,
                                  config::above(0)};
inline constexpr Key head_dim = count("head_dim", "width of a head");
}  // namespace layer_keys

constexpr auto keys_of(config::Tag<DenseLayerSection>) {
  using namespace layer_keys;
  return std::array{hidden_size,         count("intermediate_size", "width of the MLP"),
                    num_attention_heads, num_key_value_heads,
                    rms_norm_eps,        head_dim};
}
constexpr auto keys_of(config::Tag<MoeLayerSection>) {
  using namespace layer_keys;
  return std::array{hidden_size,
                    count("intermediate_size", "width of an expert"),
                    count("num_experts", "experts"),
                    count("experts_top_k", "experts that each token visits; their probabilities sum to 1"),
                    num_attention_heads,
                    num_key_value_heads,
                    rms_norm_eps,
                    head_dim};
}

struct DenseModelSection : CausalLmSection {
  std::optional<DenseLayerSection> layer;
};
BOOST_DESCRIBE_STRUCT(DenseModelSection, (CausalLmSection), (layer))
constexpr auto keys_of(config::Tag<DenseModelSection>) {
  return config::join(keys_of(config::Tag<CausalLmSection>{}), std::array{model_keys::layer});
}

struct MoeModelSection : CausalLmSection {
  std::optional<MoeLayerSection> layer;
  std::optional<std::int64_t> moe_intermediate_size;
  std::optional<std::int64_t> num_experts;
  std::optional<std::int64_t> num_local_experts;
  std::optional<std::int64_t> num_experts_per_tok;
  std::optional<bool> norm_topk_prob;
  std::optional<std::int64_t> decoder_sparse_step;
  std::optional<std::vector<std::int64_t>> mlp_only_layers;
  std::optional<nlohmann::json> output_router_logits;
  std::optional<nlohmann::json> router_aux_loss_coef;
  std::optional<double> router_z_loss_coef;
};
BOOST_DESCRIBE_STRUCT(MoeModelSection, (CausalLmSection),
                      (layer, moe_intermediate_size, num_experts, num_local_experts, num_experts_per_tok,
                       norm_topk_prob, decoder_sparse_step, mlp_only_layers, output_router_logits,
                       router_aux_loss_coef, router_z_loss_coef))
constexpr auto keys_of(config::Tag<MoeModelSection>) {
  using namespace model_keys;
  return config::join(keys_of(config::Tag<CausalLmSection>{}),
                      std::array{layer, moe_intermediate_size, num_experts, num_local_experts,
                                 num_experts_per_tok, norm_topk_prob, decoder_sparse_step, mlp_only_layers,
                                 output_router_logits, router_aux_loss_coef, router_z_loss_coef});
}

}  // namespace d9d
