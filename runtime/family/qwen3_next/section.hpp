#pragma once
// The section `model_provider.model` of Qwen3-Next: Hugging Face's keys. Absent keys come from `from`, then
// from Hugging Face's defaults.

#include <boost/describe/class.hpp>

#include <array>

#include "runtime/family/causal_lm_section.hpp"
#include "runtime/family/expert_keys.hpp"

namespace d9d {

struct Qwen3NextSection : CausalLmSection {
  std::optional<double> partial_rotary_factor;
  std::optional<std::int64_t> full_attention_interval;
  std::optional<std::int64_t> linear_num_key_heads;
  std::optional<std::int64_t> linear_num_value_heads;
  std::optional<std::int64_t> linear_key_head_dim;
  std::optional<std::int64_t> linear_value_head_dim;
  std::optional<std::int64_t> linear_conv_kernel_dim;
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
BOOST_DESCRIBE_STRUCT(Qwen3NextSection, (CausalLmSection),
                      (partial_rotary_factor, full_attention_interval, linear_num_key_heads,
                       linear_num_value_heads, linear_key_head_dim, linear_value_head_dim,
                       linear_conv_kernel_dim, moe_intermediate_size, shared_expert_intermediate_size,
                       num_experts, num_experts_per_tok, norm_topk_prob, decoder_sparse_step, mlp_only_layers,
                       output_router_logits, router_aux_loss_coef, router_z_loss_coef))

namespace linear_keys {
using config::Key;
constexpr Key size(std::string_view name, std::string_view meaning) {
  return {name, "", meaning, config::optional, config::at_least(1)};
}
inline constexpr Key partial_rotary_factor{"partial_rotary_factor", "",
                                           "share of a head's dimensions that turns; null: 0.25",
                                           config::optional, config::above(0)};
inline constexpr Key full_attention_interval =
    size("full_attention_interval", "which layers have attention where layer_types does not say it; null: 4");
inline constexpr Key linear_num_key_heads =
    size("linear_num_key_heads", "query and key heads of a delta net; null: 16");
inline constexpr Key linear_num_value_heads =
    size("linear_num_value_heads", "value heads of a delta net; null: 32");
inline constexpr Key linear_key_head_dim =
    size("linear_key_head_dim", "width of a key head of a delta net; null: 128");
inline constexpr Key linear_value_head_dim =
    size("linear_value_head_dim", "width of a value head of a delta net; null: 128");
inline constexpr Key linear_conv_kernel_dim =
    size("linear_conv_kernel_dim", "tokens that the convolution of a delta net reads; null: 4");
inline constexpr Key renormalised{"norm_topk_prob", "",
                                  "divide the chosen probabilities by their sum; null: true"};
}  // namespace linear_keys

constexpr auto keys_of(config::Tag<Qwen3NextSection>) {
  using namespace model_keys;
  using namespace linear_keys;
  return config::join(
      keys_of(config::Tag<CausalLmSection>{}),
      std::array{partial_rotary_factor, full_attention_interval, linear_num_key_heads, linear_num_value_heads,
                 linear_key_head_dim, linear_value_head_dim, linear_conv_kernel_dim, moe_intermediate_size,
                 shared_expert_intermediate_size, num_experts, num_experts_per_tok, renormalised,
                 decoder_sparse_step, mlp_only_layers, output_router_logits, router_aux_loss_coef,
                 router_z_loss_coef});
}

}  // namespace d9d
