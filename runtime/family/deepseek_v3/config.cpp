#include "runtime/family/deepseek_v3/config.hpp"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "runtime/base/error.hpp"
#include "runtime/family/common_config.hpp"
#include "runtime/family/hugging_face_rope.hpp"
#include "runtime/family/json_reader.hpp"
#include "runtime/family/prediction_tensors.hpp"
#include "runtime/nn/attention/latent_attention.hpp"

namespace d9d {
namespace {

constexpr const char* deepseek_v3_architecture = "DeepseekV3ForCausalLM";

void require_deepseek_v3_text(const JsonReader& in, const char* key, const std::string& only) {
  const std::string given = in.text(key, only);
  D9D_REQUIRE(given == only, "{}: {} is '{}', only '{}' is supported", in.where(), key, given, only);
}

// Of the folders' own code; transformers reads none of them.
void refuse_other_routers(const JsonReader& in) {
  require_deepseek_v3_text(in, "scoring_func", "sigmoid");
  require_deepseek_v3_text(in, "topk_method", "noaux_tc");
  const std::int64_t step = in.integer("moe_layer_freq", 1);
  D9D_REQUIRE(step == 1, "{}: moe_layer_freq is {}, only 1 is supported", in.where(), step);
  D9D_REQUIRE(!in.flag("output_router_logits", false),
              "{}: output_router_logits is true, but these models are balanced without a loss; set it to "
              "false, and router_bias_update_rate for the bias",
              in.where());
}

void read_deepseek_v3_attention(const JsonReader& in, DeepseekV3Config& config) {
  config.q_lora_rank = in.integer_or_none("q_lora_rank", 1536).value_or(0);
  config.kv_lora_rank = in.integer("kv_lora_rank", 512);
  config.qk_nope_head_dim = in.integer("qk_nope_head_dim", 128);
  config.qk_rope_head_dim = in.integer("qk_rope_head_dim", 64);
  config.v_head_dim = in.integer("v_head_dim", 128);
  config.attention_bias = in.flag("attention_bias", false);
  config.num_key_value_heads = config.num_attention_heads;
  config.head_dim = config.qk_rope_head_dim;
  config.rope = read_rope(in, config.max_position_embeddings);
  config.rope.interleaved = in.flag("rope_interleave", true);
}

void read_deepseek_v3_experts(const JsonReader& in, DeepseekV3Config& config) {
  config.moe_intermediate_size = in.integer("moe_intermediate_size", 2048);
  config.num_experts = in.integer("n_routed_experts", in.integer("num_local_experts", 256));
  config.n_shared_experts = in.integer("n_shared_experts", 1);
  config.shared_expert_intermediate_size = config.n_shared_experts * config.moe_intermediate_size;
  config.num_experts_per_tok = in.integer("num_experts_per_tok", 8);
  config.norm_topk_prob = in.flag("norm_topk_prob", true);
  config.n_group = in.integer("n_group", 8);
  config.topk_group = in.integer("topk_group", 4);
  config.routed_scaling_factor = in.number("routed_scaling_factor", 2.5);
  config.first_k_dense_replace = in.integer("first_k_dense_replace", 3);
  config.router_bias_update_rate = in.number("router_bias_update_rate", 0.0);
  config.num_nextn_predict_layers = in.integer("num_nextn_predict_layers", 0);
  config.prediction_loss_factor = in.number("mtp_loss_factor", 0.0);
  if (config.prediction_loss_factor != 0) config.prediction_depths = config.num_nextn_predict_layers;
  for (std::int64_t layer = 0; layer < std::min(config.first_k_dense_replace, config.num_hidden_layers);
       ++layer)
    config.mlp_only_layers.push_back(layer);
}

void require_deepseek_v3_sizes(const DeepseekV3Config& config, const std::string& where) {
  const auto at_least = [&](const char* key, std::int64_t value, std::int64_t smallest) {
    D9D_REQUIRE(value >= smallest, "{}: {} is {}, expected {} or more", where, key, value, smallest);
    constexpr std::int64_t largest = std::int64_t{1} << 20;
    D9D_REQUIRE(value <= largest, "{}: {} is {}, expected at most {}", where, key, value, largest);
  };
  at_least("q_lora_rank", config.q_lora_rank, 0);
  at_least("kv_lora_rank", config.kv_lora_rank, 1);
  at_least("qk_nope_head_dim", config.qk_nope_head_dim, 1);
  at_least("v_head_dim", config.v_head_dim, 1);
  at_least("n_routed_experts", config.num_experts, 1);
  at_least("n_shared_experts", config.n_shared_experts, 0);
  at_least("first_k_dense_replace", config.first_k_dense_replace, 0);
  at_least("num_nextn_predict_layers", config.num_nextn_predict_layers, 0);
  constexpr std::int64_t depths_max = 100;
  D9D_REQUIRE(config.num_nextn_predict_layers <= depths_max,
              "{}: num_nextn_predict_layers is {}, expected at most {}", where,
              config.num_nextn_predict_layers, depths_max);
  at_least("n_group", config.n_group, 1);
  at_least("topk_group", config.topk_group, 1);
  const std::int64_t head_dim = config.qk_nope_head_dim + config.qk_rope_head_dim;
  D9D_REQUIRE(config.v_head_dim <= head_dim,
              "{}: v_head_dim is {}, but queries and keys have {} (qk_nope_head_dim + qk_rope_head_dim); "
              "values must not be wider",
              where, config.v_head_dim, head_dim);
  D9D_REQUIRE(config.router_bias_update_rate >= 0 && std::isfinite(config.router_bias_update_rate),
              "{}: router_bias_update_rate is {}, expected 0 or more", where, config.router_bias_update_rate);
}

void require_deepseek_v3_prediction(const DeepseekV3Config& config, const std::string& where) {
  const double factor = config.prediction_loss_factor;
  D9D_REQUIRE(factor >= 0 && std::isfinite(factor), "{}: mtp_loss_factor is {}, expected 0 or more", where,
              factor);
  D9D_REQUIRE(
      factor == 0 || config.prediction_depths > 0,
      "{}: mtp_loss_factor is {}, but num_nextn_predict_layers is 0; set it to the number of tokens to "
      "predict beside the next one, or leave mtp_loss_factor out",
      where, factor);
}

void require_deepseek_v3_groups(const DeepseekV3Config& config, const std::string& where) {
  if (config.topk_group >= config.n_group) return;
  const std::int64_t width = config.num_experts / config.n_group;
  D9D_REQUIRE(
      width * config.n_group == config.num_experts && width >= 2,
      "{}: n_group is {}, which does not divide the {} experts (n_routed_experts) into groups of two or "
      "more",
      where, config.n_group, config.num_experts);
  D9D_REQUIRE(config.num_experts_per_tok <= config.topk_group * width,
              "{}: num_experts_per_tok is {}, but topk_group = {} groups have {} experts", where,
              config.num_experts_per_tok, config.topk_group, config.topk_group * width);
}

}  // namespace

LatentAttentionOptions DeepseekV3Config::latent_attention() const {
  const double plain = 1.0 / std::sqrt(static_cast<double>(qk_nope_head_dim + qk_rope_head_dim));
  // Scores are scaled once more where RoPE is stretched (arXiv 2309.00071, eq. 21), as transformers does it.
  const double all_dims = rope.mscale_all_dim.value_or(0);
  const double stretch = all_dims == 0 || rope.factor <= 1 ? 1.0 : 0.1 * all_dims * std::log(rope.factor) + 1;
  return {.hidden_size = hidden_size,
          .num_heads = num_attention_heads,
          .query_rank = q_lora_rank,
          .key_rank = kv_lora_rank,
          .plain_dim = qk_nope_head_dim,
          .rotary_dim = qk_rope_head_dim,
          .value_dim = v_head_dim,
          .scale = plain * stretch * stretch,
          .interleaved = rope.interleaved,
          .bias = attention_bias};
}

std::shared_ptr<Attention> DeepseekV3Config::make_attention(ParameterMaker& make, torch::nn::Module& layer,
                                                            std::int64_t /*index*/) const {
  return make.child<LatentAttention>(layer, "self_attn", latent_attention());
}

MoeOptions DeepseekV3Config::moe() const {
  MoeOptions options = SparseDecoder::moe();
  options.sigmoid_scores = true;
  options.groups = n_group;
  options.kept_groups = topk_group;
  options.score_factor = routed_scaling_factor;
  options.selection_bias = true;
  options.bias_rate = router_bias_update_rate;
  options.shared_gate = false;
  return options;
}

BlockCosts DeepseekV3Config::layer(std::int64_t index, int ranks) const {
  BlockCosts costs = latent_attention_costs(latent_attention(), ranks);
  costs += norm_costs(hidden_size);
  costs += norm_costs(hidden_size);
  costs += is_sparse_layer(index) ? mixture_costs(moe(), ranks)
                                  : swiglu_costs(hidden_size, intermediate_size, ranks);
  return costs;
}

std::vector<std::string> DeepseekV3Config::tensors_outside_mlp(std::int64_t /*layer*/) const {
  std::vector<std::string> names = {"input_layernorm.weight",
                                    "post_attention_layernorm.weight",
                                    "self_attn.kv_a_proj_with_mqa.weight",
                                    "self_attn.kv_a_layernorm.weight",
                                    "self_attn.kv_b_proj.weight",
                                    "self_attn.o_proj.weight"};
  const auto add = [&](std::initializer_list<const char*> more) {
    names.insert(names.end(), more.begin(), more.end());
  };
  if (q_lora_rank > 0)
    add({"self_attn.q_a_proj.weight", "self_attn.q_a_layernorm.weight", "self_attn.q_b_proj.weight"});
  else
    add({"self_attn.q_proj.weight"});
  if (attention_bias) add({"self_attn.kv_a_proj_with_mqa.bias", "self_attn.o_proj.bias"});
  if (attention_bias && q_lora_rank > 0) add({"self_attn.q_a_proj.bias"});
  return names;
}

std::vector<std::string> DeepseekV3Config::tensors_beside_experts() const {
  std::vector<std::string> names = {"gate.weight", "gate.e_score_correction_bias"};
  if (n_shared_experts == 0) return names;
  for (const char* projection : {"gate_proj", "up_proj", "down_proj"})
    names.push_back(fmt::format("shared_experts.{}.weight", projection));
  return names;
}

// Modules of multi-token prediction that do not train, or more of them than the job has.
std::vector<std::string> DeepseekV3Config::unread_tensors(const std::set<std::string>& stored) const {
  std::vector<std::string> patterns = FamilyModel::unread_tensors(stored);
  for (std::string& copy : copies_of_prediction(*this)) patterns.push_back(std::move(copy));
  for (std::int64_t layer = num_all_layers(); has_prediction_layer(stored, layer); ++layer)
    patterns.push_back(prediction_prefix(layer) + "*");
  return patterns;
}

DeepseekV3Config read_deepseek_v3_config(const JsonReader& in) {
  DeepseekV3Config config;
  config.vocab_size = 129280;
  config.hidden_size = 7168;
  config.intermediate_size = 18432;
  config.num_hidden_layers = 61;
  config.num_attention_heads = 128;
  config.max_position_embeddings = 4096;
  read_sizes(in, config);
  refuse_other_models(in, deepseek_v3_architecture);
  refuse_other_routers(in);
  read_common(in, config);
  read_deepseek_v3_attention(in, config);
  read_deepseek_v3_experts(in, config);
  require_deepseek_v3_sizes(config, in.where());
  validate(config, in.where());
  require_deepseek_v3_groups(config, in.where());
  require_deepseek_v3_prediction(config, in.where());
  return config;
}

// An export has layers of multi-token prediction only where they train.
std::string DeepseekV3Config::config_json() const {
  nlohmann::json out = common_config_json(*this, "deepseek_v3", deepseek_v3_architecture);
  out["intermediate_size"] = intermediate_size;
  out["attention_bias"] = attention_bias;
  out["q_lora_rank"] = q_lora_rank > 0 ? nlohmann::json(q_lora_rank) : nlohmann::json(nullptr);
  out["kv_lora_rank"] = kv_lora_rank;
  out["qk_nope_head_dim"] = qk_nope_head_dim;
  out["qk_rope_head_dim"] = qk_rope_head_dim;
  out["v_head_dim"] = v_head_dim;
  out["rope_interleave"] = rope.interleaved;
  out["moe_intermediate_size"] = moe_intermediate_size;
  out["n_routed_experts"] = num_experts;
  out["n_shared_experts"] = n_shared_experts;
  out["num_experts_per_tok"] = num_experts_per_tok;
  out["norm_topk_prob"] = norm_topk_prob;
  out["n_group"] = n_group;
  out["topk_group"] = topk_group;
  out["routed_scaling_factor"] = routed_scaling_factor;
  out["first_k_dense_replace"] = first_k_dense_replace;
  out["num_nextn_predict_layers"] = prediction_depths;
  if (prediction_depths > 0) out["mtp_loss_factor"] = prediction_loss_factor;
  out["scoring_func"] = "sigmoid";
  out["topk_method"] = "noaux_tc";
  if (router_bias_update_rate > 0) out["router_bias_update_rate"] = router_bias_update_rate;
  write_rope(rope, out);
  return out.dump(2) + "\n";
}

}  // namespace d9d
