#include "runtime/family/qwen2_moe/config.hpp"

#include <nlohmann/json.hpp>

#include "runtime/base/error.hpp"
#include "runtime/family/common_config.hpp"
#include "runtime/family/hugging_face_rope.hpp"
#include "runtime/family/json_reader.hpp"

namespace d9d {
namespace {

constexpr const char* qwen2_moe_architecture = "Qwen2MoeForCausalLM";

Qwen2MoeConfig qwen2_moe_defaults() {
  Qwen2MoeConfig config;
  config.vocab_size = 151936;
  config.hidden_size = 2048;
  config.intermediate_size = 5632;
  config.num_hidden_layers = 24;
  config.num_attention_heads = 16;
  config.num_key_value_heads = 16;
  config.max_position_embeddings = 32768;
  config.num_experts_per_tok = 4;
  return config;
}

void read_qwen2_moe_experts(const JsonReader& in, Qwen2MoeConfig& config) {
  config.moe_intermediate_size = in.integer("moe_intermediate_size", 1408);
  config.shared_expert_intermediate_size = in.integer("shared_expert_intermediate_size", 5632);
  D9D_REQUIRE(config.shared_expert_intermediate_size > 0,
              "{}: shared_expert_intermediate_size is {}, expected an integer above 0", in.where(),
              config.shared_expert_intermediate_size);
  config.num_experts = in.integer("num_experts", 60);
  config.norm_topk_prob = in.flag("norm_topk_prob", false);
  config.decoder_sparse_step = in.integer("decoder_sparse_step", 1);
  config.mlp_only_layers = in.integers("mlp_only_layers");
}

}  // namespace

AttentionOptions Qwen2MoeConfig::attention() const {
  AttentionOptions options = DenseDecoder::attention();
  options.qkv_bias = qkv_bias;
  return options;
}

Qwen2MoeConfig read_qwen2_moe_config(const JsonReader& in) {
  Qwen2MoeConfig config = qwen2_moe_defaults();
  read_sizes(in, config);
  refuse_other_models(in, qwen2_moe_architecture);
  read_common(in, config);
  config.rope = read_rope(in, config.max_position_embeddings);
  config.qkv_bias = in.flag("qkv_bias", true);
  D9D_REQUIRE(in.find("attention_bias") == nullptr,
              "{}: attention_bias is given, but this family has qkv_bias and none on o; remove the key",
              in.where());
  // As transformers 5 fills in the types of the layers: every other one of the first.
  const std::int64_t windowed = in.integer("max_window_layers", 28);
  config.windows = read_layer_windows(in, config.num_hidden_layers,
                                      [=](std::int64_t layer) { return layer % 2 == 0 && layer < windowed; });
  read_qwen2_moe_experts(in, config);
  read_router(in, config);
  validate(config, in.where());
  return config;
}

std::string Qwen2MoeConfig::config_json() const {
  nlohmann::json out = common_config_json(*this, "qwen2_moe", qwen2_moe_architecture);
  out["intermediate_size"] = intermediate_size;
  out["qkv_bias"] = qkv_bias;
  out["moe_intermediate_size"] = moe_intermediate_size;
  out["shared_expert_intermediate_size"] = shared_expert_intermediate_size;
  out["num_experts"] = num_experts;
  out["norm_topk_prob"] = norm_topk_prob;
  out["decoder_sparse_step"] = decoder_sparse_step;
  out["mlp_only_layers"] = mlp_only_layers;
  write_layer_windows(windows, num_hidden_layers, out);
  write_router(*this, out);
  write_rope(rope, out);
  return out.dump(2) + "\n";
}

}  // namespace d9d
