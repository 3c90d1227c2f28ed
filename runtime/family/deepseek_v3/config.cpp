#include "runtime/family/deepseek_v3/config.hpp"

#include <algorithm>
#include <cmath>

#include "runtime/base/error.hpp"
#include "runtime/family/expert_keys.hpp"
#include "runtime/family/prediction_tensors.hpp"
#include "runtime/nn/attention/latent_attention.hpp"

namespace d9d {
namespace {

using nlohmann::json;

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
      "{}: n_group is {}, which does not divide the {} experts (n_routed_experts) into groups of two or more",
      where, config.n_group, config.num_experts);
  D9D_REQUIRE(config.num_experts_per_tok <= config.topk_group * width,
              "{}: num_experts_per_tok is {}, but topk_group = {} groups have {} experts", where,
              config.num_experts_per_tok, config.topk_group, config.topk_group * width);
}

ModelKeys latent_keys() {
  using namespace config;
  ModelKey queries = member(
      {"q_lora_rank", "", "width of the queries' latent; 0: they have none; null: 0", optional, at_least(0)},
      &DeepseekV3Config::q_lora_rank, [](const JsonReader& in, const DeepseekV3Config& model) {
        return in.integer_or_none("q_lora_rank", model.q_lora_rank).value_or(0);
      });
  queries.write = [](const FamilyModel& model, json& out) {
    const std::int64_t rank = static_cast<const DeepseekV3Config&>(model).q_lora_rank;
    out["q_lora_rank"] = rank > 0 ? json(rank) : json(nullptr);
  };
  return {std::move(queries),
          member({"kv_lora_rank", "", "width of the latent of keys and values; required without `from`",
                  optional, at_least(1)},
                 &DeepseekV3Config::kv_lora_rank),
          member({"qk_nope_head_dim", "", "width of a head's part without positions; required without `from`",
                  optional, at_least(1)},
                 &DeepseekV3Config::qk_nope_head_dim),
          member({"qk_rope_head_dim", "", "width of a head's part with RoPE, even; required without `from`",
                  optional, at_least(2)},
                 &DeepseekV3Config::qk_rope_head_dim),
          member({"v_head_dim", "",
                  "width of a head's values, at most that of its queries; required without `from`", optional,
                  at_least(1)},
                 &DeepseekV3Config::v_head_dim)};
}

ModelKeys routed_keys() {
  using namespace config;
  ModelKeys keys = expert_keys({"moe_intermediate_size"});
  keys.push_back(
      member({"n_routed_experts", "", "experts of a layer; required without `from`", optional, at_least(1)},
             &DeepseekV3Config::num_experts, [](const JsonReader& in, const SparseDecoder& model) {
               return in.integer("n_routed_experts", in.integer("num_local_experts", model.num_experts));
             }));
  keys.push_back(
      member({"n_shared_experts", "",
              "experts that every token visits, as one of so many times the width; required without `from`",
              optional, at_least(0)},
             &DeepseekV3Config::n_shared_experts));
  append(keys, expert_keys({"num_experts_per_tok", "norm_topk_prob"}));
  row(keys, "norm_topk_prob").key.meaning = "divide the chosen scores by their sum; null: true";
  keys.push_back(member({"n_group", "", "groups of experts; null: 1", optional, at_least(1)},
                        &DeepseekV3Config::n_group));
  keys.push_back(member(
      {"topk_group", "", "groups from which a token chooses its experts; null: 1", optional, at_least(1)},
      &DeepseekV3Config::topk_group));
  keys.push_back(member({"routed_scaling_factor", "", "factor of the chosen experts' weights; null: 2.5"},
                        &DeepseekV3Config::routed_scaling_factor));
  keys.push_back(member({"first_k_dense_replace", "layers", "first layers, which have no experts; null: 3",
                         optional, at_least(0)},
                        &DeepseekV3Config::first_k_dense_replace));
  return keys;
}

// Of the folders' own code; transformers reads none of them.
ModelKey only_text(const config::Key& key, const std::string& only) {
  const std::string name(key.name);
  return {.key = key,
          .refuse =
              [=](const JsonReader& in) {
                const std::string given = in.text(name.c_str(), only);
                D9D_REQUIRE(given == only, "{}: {} is '{}', only '{}' is supported", in.where(), name, given,
                            only);
              },
          .write = [=](const FamilyModel&, json& out) { out[name] = only; }};
}

void refuse_sparse_steps(const JsonReader& in) {
  const std::int64_t step = in.integer("moe_layer_freq", 1);
  D9D_REQUIRE(step == 1, "{}: moe_layer_freq is {}, only 1 is supported", in.where(), step);
  D9D_REQUIRE(!in.flag("output_router_logits", false),
              "{}: output_router_logits is true, but these models are balanced without a loss; set it to "
              "false, and router_bias_update_rate for the bias",
              in.where());
}

// An export has modules of multi-token prediction only where they train.
void write_depths(const FamilyModel& model, json& out) {
  out["num_nextn_predict_layers"] = model.prediction_depths;
  if (model.prediction_depths > 0) out["mtp_loss_factor"] = model.prediction_loss_factor;
}

ModelKeys training_keys() {
  using namespace config;
  ModelKey depths =
      member({"num_nextn_predict_layers", "layers",
              "modules of multi-token prediction after the layers, each for one more token; "
              "without mtp_loss_factor they are not read, trained or exported, as are more modules "
              "in a folder; null: 0",
              optional, at_least(0)},
             &DeepseekV3Config::num_nextn_predict_layers);
  depths.write = write_depths;
  ModelKey rate = member(
      {"router_bias_update_rate", "",
       "balancing without a loss: by how much each update moves the selection bias of an expert up or down, "
       "where it got fewer or more tokens than the mean; not of transformers; null: 0, the bias stays",
       optional, at_least(0)},
      &DeepseekV3Config::router_bias_update_rate);
  rate.write = [write = rate.write](const FamilyModel& model, json& out) {
    if (static_cast<const DeepseekV3Config&>(model).router_bias_update_rate > 0) write(model, out);
  };
  ModelKey factor =
      member({"mtp_loss_factor", "",
              "weight of the mean loss of multi-token prediction beside that of the next token; not of "
              "transformers; "
              "DeepSeek-V3 was trained with 0.3, at last 0.1; null: 0, the modules do not train",
              optional, at_least(0)},
             &DeepseekV3Config::prediction_loss_factor);
  factor.write = {};
  return {std::move(depths),
          only_text({"scoring_func", "", "only sigmoid"}, "sigmoid"),
          only_text({"topk_method", "", "only noaux_tc"}, "noaux_tc"),
          {.key = {"moe_layer_freq", "", "only 1"}, .refuse = refuse_sparse_steps},
          std::move(rate),
          std::move(factor)};
}

ModelKeys deepseek_v3_keys() {
  ModelKeys keys = decoder_keys("deepseek_v3", "DeepseekV3ForCausalLM");
  only_causal(keys);
  set_member(keys, "attention_bias", &DeepseekV3Config::attention_bias);
  ModelKey& pairs = row(keys, "rope_interleave");
  pairs.read = [](const JsonReader& in, FamilyModel& model) { read_pairs(in, true, model); };
  pairs.write = [](const FamilyModel& model, json& out) { out["rope_interleave"] = model.rope.interleaved; };
  append(keys, latent_keys());
  append(keys, routed_keys());
  append(keys, training_keys());
  return keys;
}

}  // namespace

DeepseekV3Config::DeepseekV3Config() {
  vocab_size = 129280;
  hidden_size = 7168;
  intermediate_size = 18432;
  num_hidden_layers = 61;
  num_attention_heads = 128;
  max_position_embeddings = 4096;
  moe_intermediate_size = 2048;
  num_experts = 256;
  num_experts_per_tok = 8;
  norm_topk_prob = true;
}

const ModelKeys& DeepseekV3Config::keys() const {
  static const ModelKeys all = deepseek_v3_keys();
  return all;
}

void DeepseekV3Config::settle() {
  num_key_value_heads = num_attention_heads;
  head_dim = qk_rope_head_dim;
  shared_expert_intermediate_size = n_shared_experts * moe_intermediate_size;
  if (prediction_loss_factor != 0) prediction_depths = num_nextn_predict_layers;
  for (std::int64_t layer = 0; layer < std::min(first_k_dense_replace, num_hidden_layers); ++layer)
    mlp_only_layers.push_back(layer);
}

void DeepseekV3Config::validate(const std::string& where) const {
  require_deepseek_v3_sizes(*this, where);
  SparseDecoder::validate(where);
  require_deepseek_v3_groups(*this, where);
  require_deepseek_v3_prediction(*this, where);
}

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
  costs += is_sparse_layer(index) ? mixture_costs(moe(), ranks) : swiglu_costs(feed_forward(), ranks);
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

}  // namespace d9d
