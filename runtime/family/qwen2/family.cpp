#include "runtime/family/family.hpp"
#include "runtime/family/decoder_keys.hpp"

namespace d9d {
namespace {

// Dense, with biases on q, k and v. Defaults of transformers 5.23 (Qwen2Config).
struct Qwen2Config final : DenseDecoder {
  Qwen2Config() {
    vocab_size = 151936;
    hidden_size = 4096;
    intermediate_size = 22016;
    num_hidden_layers = 32;
    num_attention_heads = 32;
    num_key_value_heads = 32;
    max_position_embeddings = 32768;
  }

  AttentionOptions attention() const override {
    AttentionOptions options = DenseDecoder::attention();
    options.qkv_bias = true;
    return options;
  }
  const ModelKeys& keys() const override;
};

ModelKeys qwen2_keys() {
  ModelKeys keys = decoder_keys("qwen2", "Qwen2ForCausalLM");
  set_layer_windows(keys, [](std::int64_t layer, std::int64_t full_layers) { return layer >= full_layers; });
  never_given(row(keys, "attention_bias"),
              "but this family always has biases on q, k and v and none on o; remove the key");
  return keys;
}

const ModelKeys& Qwen2Config::keys() const {
  static const ModelKeys all = qwen2_keys();
  return all;
}

}  // namespace

const Family* qwen2_family() {
  static const FamilyOf<Qwen2Config> family(
      "qwen2", "Qwen2, with biases on q, k and v, for causal language modelling.",
      {"llava_onevision", "internvl"});
  return &family;
}

}  // namespace d9d
