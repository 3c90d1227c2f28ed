#include "runtime/family/family.hpp"
#include "runtime/family/decoder_keys.hpp"

namespace d9d {
namespace {

// Llama 3.x: grouped queries, RoPE of type llama3. Defaults of transformers 5.23 (LlamaConfig).
struct LlamaConfig final : DenseDecoder {
  LlamaConfig() {
    vocab_size = 32000;
    hidden_size = 4096;
    intermediate_size = 11008;
    num_hidden_layers = 32;
    num_attention_heads = 32;
    max_position_embeddings = 2048;
    bos_token_id = 1;
    eos_token_ids = {2};
  }

  bool attention_bias = false;  // biases on q, k, v and o projections
  bool mlp_bias = false;        // biases on gate, up and down projections

  AttentionOptions attention() const override {
    AttentionOptions options = DenseDecoder::attention();
    options.qkv_bias = options.output_bias = attention_bias;
    return options;
  }
  SwiGluOptions feed_forward() const override {
    SwiGluOptions options = DenseDecoder::feed_forward();
    options.bias = mlp_bias;
    return options;
  }
  const ModelKeys& keys() const override;
};

ModelKeys llama_keys() {
  ModelKeys keys = decoder_keys("llama", "LlamaForCausalLM");
  set_member(keys, "attention_bias", &LlamaConfig::attention_bias);
  keys.push_back(member({"mlp_bias", "", "biases on the gate, up and down projections; null: false"},
                        &LlamaConfig::mlp_bias));
  keys.push_back({{"pretraining_tp", "", "a key of config.json", config::optional, config::any_number(),
                   "it is only a note"}});
  return keys;
}

const ModelKeys& LlamaConfig::keys() const {
  static const ModelKeys all = llama_keys();
  return all;
}

}  // namespace

const Family* llama_family() {
  static const FamilyOf<LlamaConfig> family("llama", "Llama, for causal language modelling.",
                                            {"llava", "llava_next", "vipllava", "video_llava"});
  return &family;
}

}  // namespace d9d
