#include "runtime/nn/qwen3_config.hpp"

#include <algorithm>

#include "runtime/base/error.hpp"

namespace d9d {
namespace {

void require_positive(const std::string& where, const char* name, std::int64_t value) {
  D9D_REQUIRE(value > 0, "{}: {} is {}, expected an integer above 0", where, name, value);
}

void validate_experts(const Qwen3Config& config, const std::string& where) {
  require_positive(where, "moe_intermediate_size", config.moe_intermediate_size);
  D9D_REQUIRE(config.num_experts >= 0, "{}: num_experts is {}, expected 0 or more", where,
              config.num_experts);
  require_positive(where, "decoder_sparse_step", config.decoder_sparse_step);
  if (config.num_experts > 0) {
    require_positive(where, "num_experts_per_tok", config.num_experts_per_tok);
    D9D_REQUIRE(config.num_experts_per_tok <= config.num_experts,
                "{}: num_experts_per_tok is {}, but there are only {} experts; lower it or raise num_experts",
                where, config.num_experts_per_tok, config.num_experts);
  }
  for (const std::int64_t layer : config.mlp_only_layers) {
    D9D_REQUIRE(layer >= 0 && layer < config.num_hidden_layers,
                "{}: mlp_only_layers names layer {}, expected 0 to {} (num_hidden_layers is {})", where,
                layer, config.num_hidden_layers - 1, config.num_hidden_layers);
  }
}

void validate_rope(const Qwen3Config& config, const std::string& where) {
  const RopeOptions& rope = config.rope;
  D9D_REQUIRE(rope.theta > 1.0, "{}: rope_theta is {}, expected a number above 1", where, rope.theta);
  D9D_REQUIRE(rope.factor >= 1.0, "{}: the RoPE factor is {}, expected 1 or more", where, rope.factor);
  const bool needs_original = rope.type == RopeOptions::Type::yarn || rope.type == RopeOptions::Type::llama3;
  D9D_REQUIRE(
      !needs_original || rope.original_max_position_embeddings > 0,
      "{}: original_max_position_embeddings of RoPE is {}, expected the length the model was pretrained with",
      where, rope.original_max_position_embeddings);
  D9D_REQUIRE(rope.type != RopeOptions::Type::yarn || rope.beta_fast > rope.beta_slow,
              "{}: RoPE beta_fast is {} and beta_slow {}; beta_fast must be the larger one", where,
              rope.beta_fast, rope.beta_slow);
  D9D_REQUIRE(
      rope.type != RopeOptions::Type::llama3 || rope.high_freq_factor > rope.low_freq_factor,
      "{}: RoPE high_freq_factor is {} and low_freq_factor {}; high_freq_factor must be the larger one",
      where, rope.high_freq_factor, rope.low_freq_factor);
}

}  // namespace

bool Qwen3Config::is_sparse_layer(std::int64_t layer_index) const {
  if (family == ModelFamily::dense || num_experts == 0) return false;
  if (std::find(mlp_only_layers.begin(), mlp_only_layers.end(), layer_index) != mlp_only_layers.end())
    return false;
  return (layer_index + 1) % decoder_sparse_step == 0;
}

void validate(const Qwen3Config& config, const std::string& where) {
  require_positive(where, "vocab_size", config.vocab_size);
  require_positive(where, "hidden_size", config.hidden_size);
  require_positive(where, "intermediate_size", config.intermediate_size);
  require_positive(where, "num_hidden_layers", config.num_hidden_layers);
  require_positive(where, "num_attention_heads", config.num_attention_heads);
  require_positive(where, "num_key_value_heads", config.num_key_value_heads);
  require_positive(where, "head_dim", config.head_dim);
  require_positive(where, "max_position_embeddings", config.max_position_embeddings);
  D9D_REQUIRE(config.num_attention_heads % config.num_key_value_heads == 0,
              "{}: num_attention_heads ({}) is not a multiple of num_key_value_heads ({})", where,
              config.num_attention_heads, config.num_key_value_heads);
  D9D_REQUIRE(config.head_dim % 2 == 0, "{}: head_dim is {}, rotary embedding needs an even number", where,
              config.head_dim);
  D9D_REQUIRE(config.rms_norm_eps > 0, "{}: rms_norm_eps is {}, expected a number above 0", where,
              config.rms_norm_eps);
  D9D_REQUIRE(config.initializer_range > 0, "{}: initializer_range is {}, expected a number above 0", where,
              config.initializer_range);
  D9D_REQUIRE(config.dtype == "float32" || config.dtype == "bfloat16" || config.dtype == "float16",
              "{}: dtype is '{}', expected float32, bfloat16 or float16", where, config.dtype);
  D9D_REQUIRE(!config.pad_token_id || (*config.pad_token_id >= 0 && *config.pad_token_id < config.vocab_size),
              "{}: pad_token_id is {}, outside of the vocabulary of {}", where, *config.pad_token_id,
              config.vocab_size);
  D9D_REQUIRE(config.pipeline_num_virtual_layers_pre >= 0 && config.pipeline_num_virtual_layers_post >= 0,
              "{}: pipeline_num_virtual_layers_pre and _post must be 0 or more", where);
  if (config.family == ModelFamily::moe) validate_experts(config, where);
  validate_rope(config, where);
}

}  // namespace d9d
