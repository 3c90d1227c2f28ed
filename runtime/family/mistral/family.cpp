#include <nlohmann/json.hpp>

#include "runtime/family/decoder_keys.hpp"
#include "runtime/family/family.hpp"

namespace d9d {
namespace {

// One sliding window for all layers or none. Defaults of transformers 5.23 (MistralConfig).
struct MistralConfig final : DenseDecoder {
  MistralConfig() {
    vocab_size = 32000;
    hidden_size = 4096;
    intermediate_size = 14336;
    num_hidden_layers = 32;
    num_attention_heads = 32;
    num_key_value_heads = 8;
    max_position_embeddings = 131072;
    bos_token_id = 1;
    eos_token_ids = {2};
  }

  const ModelKeys& keys() const override;
};

ModelKeys mistral_keys() {
  ModelKeys keys = decoder_keys("mistral", "MistralForCausalLM");
  set_one_window(keys, 4096);
  never_true(row(keys, "attention_bias"), "but this family has no biases; remove the key");
  return keys;
}

const ModelKeys& MistralConfig::keys() const {
  static const ModelKeys all = mistral_keys();
  return all;
}

class MistralFamily final : public FamilyOf<MistralConfig> {
 public:
  using FamilyOf::FamilyOf;
  // In a job file a window that is not given is none.
  void add_defaults(nlohmann::json& keys) const override { keys["sliding_window"] = nullptr; }
};

}  // namespace

const Family* mistral_family() {
  static const MistralFamily family(
      "mistral", "Mistral, with a sliding window or without, for causal language modelling.", {"mistral3"});
  return &family;
}

}  // namespace d9d
