#include "runtime/family/qwen2_moe/config.hpp"

#include "runtime/family/expert_keys.hpp"

namespace d9d {
namespace {

ModelKeys qwen2_moe_keys() {
  ModelKeys keys = decoder_keys("qwen2_moe", "Qwen2MoeForCausalLM");
  never_given(row(keys, "attention_bias"), "but this family has qkv_bias and none on o; remove the key");
  // As transformers 5 fills in the types of the layers: every other one of the first.
  set_layer_windows(
      keys, [](std::int64_t layer, std::int64_t windowed) { return layer % 2 == 0 && layer < windowed; });
  keys.push_back(member({"qkv_bias", "", "biases on the q, k and v projections; null: true"},
                        &Qwen2MoeConfig::qkv_bias));
  append(keys, expert_keys({"moe_intermediate_size", "shared_expert_intermediate_size", "num_experts",
                            "num_experts_per_tok", "norm_topk_prob", "decoder_sparse_step", "mlp_only_layers",
                            "output_router_logits", "router_aux_loss_coef", "router_z_loss_coef"}));
  return keys;
}

}  // namespace

Qwen2MoeConfig::Qwen2MoeConfig() {
  vocab_size = 151936;
  hidden_size = 2048;
  intermediate_size = 5632;
  num_hidden_layers = 24;
  num_attention_heads = 16;
  num_key_value_heads = 16;
  max_position_embeddings = 32768;
  moe_intermediate_size = 1408;
  shared_expert_intermediate_size = 5632;
  num_experts = 60;
  num_experts_per_tok = 4;
}

AttentionOptions Qwen2MoeConfig::attention() const {
  AttentionOptions options = DenseDecoder::attention();
  options.qkv_bias = qkv_bias;
  return options;
}

const ModelKeys& Qwen2MoeConfig::keys() const {
  static const ModelKeys all = qwen2_moe_keys();
  return all;
}

}  // namespace d9d
