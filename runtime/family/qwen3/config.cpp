#include "runtime/family/qwen3/config.hpp"

#include "runtime/family/expert_keys.hpp"
#include "runtime/family/key_type.hpp"
#include "runtime/family/qwen3/layer_section.hpp"

namespace d9d {
namespace {

constinit const KeyType dense_layer_key = key_of<DenseLayerSection>();
constinit const KeyType moe_layer_key = key_of<MoeLayerSection>();

ModelKeys qwen3_keys(const char* type, const char* architecture, const KeyType& layer) {
  ModelKeys keys = decoder_keys(type, architecture);
  set_member(keys, "attention_bias", &Qwen3Config::attention_bias);
  keys.push_back({{"layer", "", "the original's keys of a layer, instead of Hugging Face's"}, &layer});
  return keys;
}

ModelKeys qwen3_dense_keys() {
  ModelKeys keys = qwen3_keys("qwen3", "Qwen3ForCausalLM", dense_layer_key);
  set_layer_windows(keys, [](std::int64_t layer, std::int64_t full_layers) { return layer >= full_layers; });
  // Left out it is 128, as null it is an even share.
  ModelKey& head_dim = row(keys, "head_dim");
  head_dim.read = [read = head_dim.read](const JsonReader& in, FamilyModel& model) {
    if (in.has("head_dim")) static_cast<Qwen3Config&>(model).head_dim = 0;
    read(in, model);
  };
  return keys;
}

// All layers have the window where it is in use: this model has no layer_types.
LayerWindows read_moe_window(const JsonReader& in, const FamilyModel& model) {
  if (!in.flag("use_sliding_window", false)) return {};
  return read_one_window(in, model.num_hidden_layers, 4096);
}

void write_moe_window(const FamilyModel& model, nlohmann::json& out) {
  write_one_window(model.windows, out);
  out["use_sliding_window"] = model.windows.any();
}

ModelKeys qwen3_moe_keys() {
  ModelKeys keys = qwen3_keys("qwen3_moe", "Qwen3MoeForCausalLM", moe_layer_key);
  set_windows(keys, read_moe_window, write_moe_window);
  append(keys, expert_keys({"moe_intermediate_size", "num_experts", "num_local_experts",
                            "num_experts_per_tok", "norm_topk_prob", "decoder_sparse_step", "mlp_only_layers",
                            "output_router_logits", "router_aux_loss_coef", "router_z_loss_coef"}));
  ModelKey& experts = row(keys, "num_experts");
  experts = member(experts.key, &Qwen3Config::num_experts, read_two_names);
  row(keys, "num_local_experts").write = [](const FamilyModel& model, nlohmann::json& out) {
    out["num_local_experts"] = static_cast<const Qwen3Config&>(model).num_experts;
  };
  return keys;
}

}  // namespace

Qwen3Config::Qwen3Config(Qwen3Kind kind) : kind(kind) {
  const bool moe = kind == Qwen3Kind::moe;
  vocab_size = 151936;
  hidden_size = moe ? 2048 : 4096;
  intermediate_size = moe ? 6144 : 22016;
  num_hidden_layers = moe ? 24 : 32;
  num_attention_heads = 32;
  num_key_value_heads = moe ? 4 : 32;
  head_dim = moe ? 0 : 128;
  max_position_embeddings = 32768;
  moe_intermediate_size = 768;
  num_experts = 128;
  num_experts_per_tok = 8;
}

bool Qwen3Config::is_sparse_layer(std::int64_t layer) const {
  return kind == Qwen3Kind::moe && SparseDecoder::is_sparse_layer(layer);
}

AttentionOptions Qwen3Config::attention() const {
  AttentionOptions options = DenseDecoder::attention();
  options.qk_norm = true;
  options.qkv_bias = options.output_bias = attention_bias;
  return options;
}

std::vector<std::string> Qwen3Config::tensors_outside_mlp(std::int64_t layer) const {
  std::vector<std::string> names = SparseDecoder::tensors_outside_mlp(layer);
  names.insert(names.end(), {"self_attn.q_norm.weight", "self_attn.k_norm.weight"});
  return names;
}

void Qwen3Config::validate(const std::string& where) const {
  kind == Qwen3Kind::moe ? SparseDecoder::validate(where) : DenseDecoder::validate(where);
}

const ModelKeys& Qwen3Config::keys() const {
  static const ModelKeys dense = qwen3_dense_keys(), moe = qwen3_moe_keys();
  return kind == Qwen3Kind::moe ? moe : dense;
}

}  // namespace d9d
