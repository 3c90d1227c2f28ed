#include "runtime/family/qwen3_next/config.hpp"

#include <algorithm>

#include "runtime/base/error.hpp"
#include "runtime/base/json_text.hpp"
#include "runtime/family/expert_keys.hpp"
#include "runtime/family/hugging_face_rope.hpp"
#include "runtime/nn/attention/gated_delta_net.hpp"

namespace d9d {
namespace {

using nlohmann::json;

constexpr const char* linear_layer = "linear_attention";
constexpr const char* attention_layer = "full_attention";

std::vector<bool> read_linear_layers(const JsonReader& in, std::int64_t layers) {
  std::vector<bool> linear;
  if (const json* const types = in.find("layer_types")) {
    D9D_REQUIRE(types->is_array(), "{}: layer_types is {}, expected a list", in.where(), types->dump());
    for (const json& type : *types) {
      D9D_REQUIRE(type == linear_layer || type == attention_layer,
                  "{}: layer_types names {}, supported are {} and {}", in.where(), json_text(type),
                  linear_layer, attention_layer);
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

void read_next_rope(const JsonReader& in, FamilyModel& model) {
  model.rope = read_rope(in, model.max_position_embeddings, model.rope.theta, PartialRotary::allowed);
}

void write_linear_layers(const FamilyModel& model, json& out) {
  out["layer_types"] = json::array();
  for (const bool linear : static_cast<const Qwen3NextConfig&>(model).linear_layers)
    out["layer_types"].push_back(linear ? linear_layer : attention_layer);
}

// All at least 1.
ModelKeys delta_net_keys() {
  const auto size = [](std::string_view name, std::string_view meaning,
                       std::int64_t Qwen3NextConfig::*place) {
    return member({name, "", meaning, config::optional, config::at_least(1)}, place);
  };
  return {size("linear_num_key_heads", "query and key heads of a delta net; null: 16",
               &Qwen3NextConfig::linear_num_key_heads),
          size("linear_num_value_heads", "value heads of a delta net; null: 32",
               &Qwen3NextConfig::linear_num_value_heads),
          size("linear_key_head_dim", "width of a key head of a delta net; null: 128",
               &Qwen3NextConfig::linear_key_head_dim),
          size("linear_value_head_dim", "width of a value head of a delta net; null: 128",
               &Qwen3NextConfig::linear_value_head_dim),
          size("linear_conv_kernel_dim", "tokens that the convolution of a delta net reads; null: 4",
               &Qwen3NextConfig::linear_conv_kernel_dim)};
}

ModelKeys qwen3_next_keys() {
  ModelKeys keys = decoder_keys("qwen3_next", "Qwen3NextForCausalLM");
  only_causal(keys);
  set_member(keys, "attention_bias", &Qwen3NextConfig::attention_bias);
  row(keys, "rope_theta").read = read_next_rope;
  never_true(row(keys, "use_sliding_window"), "but this family has no windows; remove the key");
  row(keys, "layer_types").read = [](const JsonReader& in, FamilyModel& model) {
    static_cast<Qwen3NextConfig&>(model).linear_layers = read_linear_layers(in, model.num_hidden_layers);
  };
  row(keys, "layer_types").write = write_linear_layers;
  ModelKey share =
      member({"partial_rotary_factor", "", "share of a head's dimensions that turns; null: 0.25",
              config::optional, config::above(0)},
             &Qwen3NextConfig::partial_rotary_factor, [](const JsonReader& in, const Qwen3NextConfig& model) {
               return read_rotary_share(in, model.partial_rotary_factor);
             });
  share.write = [](const FamilyModel& model, json& out) {
    write_rotary_share(static_cast<const Qwen3NextConfig&>(model).partial_rotary_factor, out);
  };
  keys.push_back(std::move(share));
  keys.push_back({{"full_attention_interval", "",
                   "which layers have attention where layer_types does not say it; null: 4", config::optional,
                   config::at_least(1)},
                  &integer_key});
  append(keys, delta_net_keys());
  append(keys, expert_keys({"moe_intermediate_size", "shared_expert_intermediate_size", "num_experts",
                            "num_experts_per_tok", "norm_topk_prob", "decoder_sparse_step", "mlp_only_layers",
                            "output_router_logits", "router_aux_loss_coef", "router_z_loss_coef"}));
  row(keys, "norm_topk_prob").key.meaning = "divide the chosen probabilities by their sum; null: true";
  return keys;
}

}  // namespace

Qwen3NextConfig::Qwen3NextConfig() {
  vocab_size = 151936;
  hidden_size = 2048;
  intermediate_size = 5632;
  num_hidden_layers = 48;
  num_attention_heads = 16;
  num_key_value_heads = 2;
  head_dim = 256;
  max_position_embeddings = 32768;
  zero_centered_norms = true;
  moe_intermediate_size = 512;
  shared_expert_intermediate_size = 512;
  num_experts = 512;
  num_experts_per_tok = 10;
  norm_topk_prob = true;
}

const ModelKeys& Qwen3NextConfig::keys() const {
  static const ModelKeys all = qwen3_next_keys();
  return all;
}

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
  costs += is_sparse_layer(index) ? mixture_costs(moe(), ranks) : swiglu_costs(feed_forward(), ranks);
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

std::shared_ptr<Attention> Qwen3NextConfig::make_attention(ParameterMaker& make, torch::nn::Module& layer,
                                                           std::int64_t index) const {
  if (is_linear_layer(index)) return make.child<GatedDeltaNet>(layer, "linear_attn", delta_net());
  return SparseDecoder::make_attention(make, layer, index);
}

void Qwen3NextConfig::validate(const std::string& where) const {
  D9D_REQUIRE(partial_rotary_factor > 0 && partial_rotary_factor <= 1,
              "{}: partial_rotary_factor is {}, expected a number above 0 and at most 1", where,
              partial_rotary_factor);
  SparseDecoder::validate(where);
  for (const auto& [key, size] : {std::pair("linear_num_key_heads", linear_num_key_heads),
                                  std::pair("linear_num_value_heads", linear_num_value_heads),
                                  std::pair("linear_key_head_dim", linear_key_head_dim),
                                  std::pair("linear_value_head_dim", linear_value_head_dim),
                                  std::pair("linear_conv_kernel_dim", linear_conv_kernel_dim)}) {
    constexpr std::int64_t size_max = std::int64_t{1} << 16;
    D9D_REQUIRE(size > 0 && size <= size_max, "{}: {} is {}, expected an integer above 0{}", where, key, size,
                size > 0 ? fmt::format(", at most {}", size_max) : "");
  }
  D9D_REQUIRE(linear_num_value_heads % linear_num_key_heads == 0,
              "{}: linear_num_value_heads ({}) is not a multiple of linear_num_key_heads ({})", where,
              linear_num_value_heads, linear_num_key_heads);
  D9D_REQUIRE(static_cast<std::int64_t>(linear_layers.size()) == num_hidden_layers,
              "{}: layer_types has {} entries, but there are {} layers (num_hidden_layers)", where,
              linear_layers.size(), num_hidden_layers);
}

}  // namespace d9d
