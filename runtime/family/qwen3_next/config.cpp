#include "runtime/family/qwen3_next/config.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "runtime/base/error.hpp"
#include "runtime/family/common_config.hpp"
#include "runtime/family/hugging_face_rope.hpp"
#include "runtime/family/json_reader.hpp"

namespace d9d {
namespace {

using nlohmann::json;

constexpr const char* qwen3_next_architecture = "Qwen3NextForCausalLM";
constexpr const char* linear_layer = "linear_attention";
constexpr const char* attention_layer = "full_attention";

// All at least 1; what absent keys mean is in the struct.
constexpr std::pair<const char*, std::int64_t Qwen3NextConfig::*> linear_sizes[] = {
    {"linear_num_key_heads", &Qwen3NextConfig::linear_num_key_heads},
    {"linear_num_value_heads", &Qwen3NextConfig::linear_num_value_heads},
    {"linear_key_head_dim", &Qwen3NextConfig::linear_key_head_dim},
    {"linear_value_head_dim", &Qwen3NextConfig::linear_value_head_dim},
    {"linear_conv_kernel_dim", &Qwen3NextConfig::linear_conv_kernel_dim}};

Qwen3NextConfig qwen3_next_defaults() {
  Qwen3NextConfig config;
  config.vocab_size = 151936;
  config.hidden_size = 2048;
  config.intermediate_size = 5632;
  config.num_hidden_layers = 48;
  config.num_attention_heads = 16;
  config.num_key_value_heads = 2;
  config.max_position_embeddings = 32768;
  config.num_experts_per_tok = 10;
  return config;
}

std::vector<bool> read_linear_layers(const JsonReader& in, std::int64_t layers) {
  std::vector<bool> linear;
  if (const json* const types = in.find("layer_types")) {
    D9D_REQUIRE(types->is_array(), "{}: layer_types is {}, expected a list", in.where(), types->dump());
    for (const json& type : *types) {
      D9D_REQUIRE(type == linear_layer || type == attention_layer,
                  "{}: layer_types names {}, supported are {} and {}", in.where(), type.dump(), linear_layer,
                  attention_layer);
      linear.push_back(type == linear_layer);
    }
    return linear;
  }
  const std::int64_t interval = in.integer("full_attention_interval", 4);
  D9D_REQUIRE(interval > 0, "{}: full_attention_interval is {}, expected an integer above 0", in.where(),
              interval);
  for (std::int64_t layer = 0; layer < layers; ++layer) linear.push_back((layer + 1) % interval != 0);
  return linear;
}

void read_next_experts(const JsonReader& in, Qwen3NextConfig& config) {
  config.moe_intermediate_size = in.integer("moe_intermediate_size", 512);
  config.shared_expert_intermediate_size = in.integer("shared_expert_intermediate_size", 512);
  config.num_experts = in.integer("num_experts", 512);
  config.norm_topk_prob = in.flag("norm_topk_prob", true);
  config.decoder_sparse_step = in.integer("decoder_sparse_step", 1);
  config.mlp_only_layers = in.integers("mlp_only_layers");
  read_router(in, config);
}

}  // namespace

bool Qwen3NextConfig::has_linear_layers() const {
  return std::find(linear_layers.begin(), linear_layers.end(), true) != linear_layers.end();
}

DeltaNetOptions Qwen3NextConfig::delta_net() const {
  return {.hidden_size = hidden_size,
          .num_key_heads = linear_num_key_heads,
          .num_value_heads = linear_num_value_heads,
          .key_head_dim = linear_key_head_dim,
          .value_head_dim = linear_value_head_dim,
          .taps = linear_conv_kernel_dim,
          .norm_eps = rms_norm_eps};
}

AttentionOptions Qwen3NextConfig::attention() const {
  AttentionOptions options = DenseDecoder::attention();
  options.qk_norm = options.zero_centered_norm = options.output_gate = true;
  options.rotary_dim = static_cast<std::int64_t>(static_cast<double>(head_dim) * partial_rotary_factor);
  options.qkv_bias = options.output_bias = attention_bias;
  return options;
}

BlockCosts Qwen3NextConfig::layer(std::int64_t index, int ranks) const {
  BlockCosts costs =
      is_linear_layer(index) ? delta_net_costs(delta_net(), ranks) : attention_costs(attention(), ranks);
  costs += norm_costs(hidden_size);
  costs += norm_costs(hidden_size);
  costs += is_sparse_layer(index) ? mixture_costs(moe(), ranks)
                                  : swiglu_costs(hidden_size, intermediate_size, ranks);
  return costs;
}

void Qwen3NextConfig::require_tensor_parallel(int ranks) const {
  SparseDecoder::require_tensor_parallel(ranks);
  if (has_linear_layers()) require_divisible_heads(delta_net(), ranks);
}

void Qwen3NextConfig::require_context_parallel(int ranks) const {
  D9D_REQUIRE(ranks == 1 || !has_linear_layers(),
              "{} ranks cannot share sequences (context_parallel_shard x context_parallel_replicate): the "
              "linear_attention layers of the model carry a state from token to token; set both to 1",
              ranks);
}

std::vector<std::string> Qwen3NextConfig::unread_tensors(const std::set<std::string>& stored) const {
  std::vector<std::string> patterns = SparseDecoder::unread_tensors(stored);
  patterns.emplace_back("mtp.*");
  return patterns;
}

std::vector<std::string> Qwen3NextConfig::tensors_outside_mlp(std::int64_t layer) const {
  if (is_linear_layer(layer)) {
    std::vector<std::string> names = {"input_layernorm.weight", "post_attention_layernorm.weight"};
    for (const char* name : {"in_proj_qkvz.weight", "in_proj_ba.weight", "conv1d.weight", "dt_bias", "A_log",
                             "norm.weight", "out_proj.weight"})
      names.push_back(std::string("linear_attn.") + name);
    return names;
  }
  std::vector<std::string> names = SparseDecoder::tensors_outside_mlp(layer);
  names.insert(names.end(), {"self_attn.q_norm.weight", "self_attn.k_norm.weight"});
  return names;
}

Qwen3NextConfig read_qwen3_next_config(const JsonReader& in) {
  Qwen3NextConfig config = qwen3_next_defaults();
  read_sizes(in, config);
  config.head_dim = in.integer("head_dim", 256);
  refuse_other_models(in, qwen3_next_architecture);
  read_common(in, config);
  config.partial_rotary_factor = read_rotary_share(in, 0.25);
  config.rope = read_rope(in, config.max_position_embeddings, 10000.0, PartialRotary::allowed);
  config.attention_bias = in.flag("attention_bias", false);
  D9D_REQUIRE(!in.flag("use_sliding_window", false),
              "{}: use_sliding_window is true, but this family has no windows; remove the key", in.where());
  config.linear_layers = read_linear_layers(in, config.num_hidden_layers);
  for (const auto& [key, size] : linear_sizes) config.*size = in.integer(key, config.*size);
  read_next_experts(in, config);
  validate(config, in.where());
  return config;
}

std::string Qwen3NextConfig::config_json() const {
  json out = common_config_json(*this, "qwen3_next", qwen3_next_architecture);
  out["intermediate_size"] = intermediate_size;
  out["attention_bias"] = attention_bias;
  out["layer_types"] = json::array();
  for (const bool linear : linear_layers)
    out["layer_types"].push_back(linear ? linear_layer : attention_layer);
  for (const auto& [key, size] : linear_sizes) out[key] = this->*size;
  out["moe_intermediate_size"] = moe_intermediate_size;
  out["shared_expert_intermediate_size"] = shared_expert_intermediate_size;
  out["num_experts"] = num_experts;
  out["norm_topk_prob"] = norm_topk_prob;
  out["decoder_sparse_step"] = decoder_sparse_step;
  out["mlp_only_layers"] = mlp_only_layers;
  write_router(*this, out);
  write_rope(rope, out);
  write_rotary_share(partial_rotary_factor, out);
  return out.dump(2) + "\n";
}

void validate(const Qwen3NextConfig& config, const std::string& where) {
  D9D_REQUIRE(config.partial_rotary_factor > 0 && config.partial_rotary_factor <= 1,
              "{}: partial_rotary_factor is {}, expected a number above 0 and at most 1", where,
              config.partial_rotary_factor);
  validate(static_cast<const SparseDecoder&>(config), where);
  for (const auto& [key, size] : linear_sizes) {
    constexpr std::int64_t size_max = std::int64_t{1} << 16;
    D9D_REQUIRE(config.*size > 0 && config.*size <= size_max, "{}: {} is {}, expected an integer above 0{}",
                where, key, config.*size, config.*size > 0 ? fmt::format(", at most {}", size_max) : "");
  }
  D9D_REQUIRE(config.linear_num_value_heads % config.linear_num_key_heads == 0,
              "{}: linear_num_value_heads ({}) is not a multiple of linear_num_key_heads ({})", where,
              config.linear_num_value_heads, config.linear_num_key_heads);
  D9D_REQUIRE(config.shared_expert_intermediate_size > 0,
              "{}: shared_expert_intermediate_size is {}, expected an integer above 0", where,
              config.shared_expert_intermediate_size);
  D9D_REQUIRE(static_cast<std::int64_t>(config.linear_layers.size()) == config.num_hidden_layers,
              "{}: layer_types has {} entries, but there are {} layers (num_hidden_layers)", where,
              config.linear_layers.size(), config.num_hidden_layers);
}

}  // namespace d9d
