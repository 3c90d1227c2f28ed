#include "runtime/family/qwen3/config.hpp"

#include <algorithm>

#include "runtime/base/count.hpp"
#include "runtime/base/error.hpp"
#include "runtime/family/hugging_face_rope.hpp"

namespace d9d {
namespace {

void require_positive(const std::string& where, const char* name, std::int64_t value) {
  D9D_REQUIRE(value > 0, "{}: {} is {}, expected an integer above 0", where, name, value);
}

void validate_experts(const Qwen3Config& config, const std::string& where) {
  require_positive(where, "moe_intermediate_size", config.moe_intermediate_size);
  constexpr std::int64_t width_max = std::int64_t{1} << 22, experts_max = std::int64_t{1} << 16;
  D9D_REQUIRE(config.num_experts >= 0 && config.num_experts <= experts_max,
              "{}: num_experts is {}, expected 0 to {}", where, config.num_experts, experts_max);
  D9D_REQUIRE(config.moe_intermediate_size <= width_max,
              "{}: moe_intermediate_size is {}, expected at most {}", where, config.moe_intermediate_size,
              width_max);
  require_positive(where, "decoder_sparse_step", config.decoder_sparse_step);
  if (config.num_experts > 0) {
    require_positive(where, "num_experts_per_tok", config.num_experts_per_tok);
    D9D_REQUIRE(config.num_experts_per_tok <= config.num_experts,
                "{}: num_experts_per_tok is {}, but the model has {}; lower it or raise num_experts", where,
                config.num_experts_per_tok, counted(config.num_experts, "expert"));
  }
  for (const std::int64_t layer : config.mlp_only_layers) {
    D9D_REQUIRE(layer >= 0 && layer < config.num_hidden_layers,
                "{}: mlp_only_layers names layer {}, expected 0 to {} (num_hidden_layers is {})", where,
                layer, config.num_hidden_layers - 1, config.num_hidden_layers);
  }
}

}  // namespace

bool Qwen3Config::is_sparse_layer(std::int64_t layer_index) const {
  if (kind == Qwen3Kind::dense || num_experts == 0) return false;
  if (std::find(mlp_only_layers.begin(), mlp_only_layers.end(), layer_index) != mlp_only_layers.end())
    return false;
  return (layer_index + 1) % decoder_sparse_step == 0;
}

AttentionOptions Qwen3Config::attention() const {
  return {.hidden_size = hidden_size,
          .num_heads = num_attention_heads,
          .num_kv_heads = num_key_value_heads,
          .head_dim = head_dim,
          .value_head_dim = head_dim,
          .norm_eps = rms_norm_eps,
          .qk_norm = true,
          .qkv_bias = attention_bias,
          .output_bias = attention_bias};
}

MoeOptions Qwen3Config::moe() const {
  return {.hidden_size = hidden_size,
          .intermediate_size = moe_intermediate_size,
          .num_experts = num_experts,
          .top_k = num_experts_per_tok,
          .renormalise = norm_topk_prob,
          .router_sums = router_aux_loss_coef != 0 || router_z_loss_coef != 0};
}

BalanceOptions Qwen3Config::balance() const {
  BalanceOptions options{router_aux_loss_coef, router_z_loss_coef, num_experts, 0, num_experts_per_tok};
  for (std::int64_t index = 0; index < num_hidden_layers; ++index) options.layers += is_sparse_layer(index);
  return options;
}

BlockCosts Qwen3Config::layer(std::int64_t index, int ranks) const {
  BlockCosts costs = attention_costs(attention_of(index), ranks);
  costs += norm_costs(hidden_size);
  costs += norm_costs(hidden_size);
  costs +=
      is_sparse_layer(index) ? mixture_costs(moe()) : swiglu_costs(hidden_size, intermediate_size, ranks);
  return costs;
}

void Qwen3Config::require_tensor_parallel(int ranks) const {
  require_divisible_heads(attention(), ranks);
  bool dense_layers = false;
  for (std::int64_t index = 0; index < num_hidden_layers; ++index) dense_layers |= !is_sparse_layer(index);
  if (dense_layers) require_divisible_width(intermediate_size, ranks);
  require_divisible_vocabulary(vocab_size, ranks);
}

void validate(const Qwen3Config& config, const std::string& where) {
  validate_common(config, where);
  require_positive(where, "intermediate_size", config.intermediate_size);
  if (config.kind == Qwen3Kind::moe) validate_experts(config, where);
  validate_rope(config.rope, config.head_dim, where);
}

}  // namespace d9d
