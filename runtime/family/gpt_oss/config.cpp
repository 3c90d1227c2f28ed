#include "runtime/family/gpt_oss/config.hpp"

#include <algorithm>

#include "runtime/base/error.hpp"
#include "runtime/family/expert_keys.hpp"
#include "runtime/family/expert_tensors.hpp"
#include "runtime/family/hugging_face_rope.hpp"

namespace d9d {
namespace {

using nlohmann::json;

// As transformers: without any settings RoPE is the published YaRN, whatever its theta.
void read_gpt_oss_rope(const JsonReader& in, FamilyModel& model) {
  RopeOptions rope = read_rope(in, model.max_position_embeddings, model.rope.theta);
  if (has_rope_settings(in)) {
    model.rope = std::move(rope);
  } else {
    model.rope.theta = rope.theta;
  }
}

LayerWindows read_gpt_oss_windows(const JsonReader& in, const FamilyModel& model) {
  return read_windows_by_type(in, model.num_hidden_layers, 128,
                              [](std::int64_t layer) { return layer % 2 == 0; });
}

void write_gpt_oss_windows(const FamilyModel& model, json& out) {
  write_windows_by_type(model.windows, model.num_hidden_layers, out);
}

ModelKeys own_gpt_oss_keys() {
  using namespace config;
  return {member({"swiglu_alpha", "", "factor of the gate in its sigmoid; null: 1.702", optional, above(0)},
                 &GptOssConfig::swiglu_alpha),
          member({"swiglu_limit", "", "gates are at most this, ups lie within it on both sides; null: 7",
                  optional, above(0)},
                 &GptOssConfig::swiglu_limit)};
}

ModelKeys gpt_oss_keys() {
  ModelKeys keys = decoder_keys("gpt_oss", "GptOssForCausalLM");
  set_member(keys, "attention_bias", &GptOssConfig::attention_bias);
  row(keys, "rope_theta").read = read_gpt_oss_rope;
  set_windows(keys, read_gpt_oss_windows, write_gpt_oss_windows);
  append(keys, expert_keys({"num_experts", "num_local_experts", "num_experts_per_tok", "output_router_logits",
                            "router_aux_loss_coef", "router_z_loss_coef"}));
  set_local_experts(keys);
  append(keys, own_gpt_oss_keys());
  return keys;
}

}  // namespace

GptOssConfig::GptOssConfig() {
  vocab_size = 201088;
  hidden_size = 2880;
  intermediate_size = 2880;
  num_hidden_layers = 36;
  num_attention_heads = 64;
  num_key_value_heads = 8;
  head_dim = 64;
  max_position_embeddings = 131072;
  rms_norm_eps = 1e-5;
  rope = {.type = RopeOptions::Type::yarn,
          .theta = 150000,
          .factor = 32,
          .original_max_position_embeddings = 4096,
          .truncate = false};
  num_experts = 128;
  num_experts_per_tok = 4;
  norm_topk_prob = true;  // which is the softmax of the chosen logits alone
}

AttentionOptions GptOssConfig::attention() const {
  AttentionOptions options = SparseDecoder::attention();
  options.qkv_bias = options.output_bias = attention_bias;
  options.sinks = true;
  return options;
}

MoeOptions GptOssConfig::moe() const {
  MoeOptions options = SparseDecoder::moe();
  options.clamped = ClampedSwiGlu{swiglu_alpha, swiglu_limit};
  return options;
}

const ModelKeys& GptOssConfig::keys() const {
  static const ModelKeys all = gpt_oss_keys();
  return all;
}

void GptOssConfig::validate(const std::string& where) const {
  D9D_REQUIRE(swiglu_alpha > 0, "{}: swiglu_alpha is {}, expected a number above 0", where, swiglu_alpha);
  D9D_REQUIRE(swiglu_limit > 0, "{}: swiglu_limit is {}, expected a number above 0", where, swiglu_limit);
  SparseDecoder::validate(where);
}

SparseDecoder::StoredNames GptOssConfig::names_in(const std::set<std::string>& stored) const {
  StoredNames names = names_of_export();
  const bool packed = std::ranges::any_of(
      stored, [](const std::string& name) { return name.ends_with(".experts.gate_up_proj_blocks"); });
  if (packed) names.experts = ExpertStorage::packed;
  return names;
}

SparseDecoder::StoredNames GptOssConfig::names_of_export() const {
  return {.router = "router", .experts = ExpertStorage::transposed};
}

}  // namespace d9d
