#include "runtime/family/mistral/config.hpp"

#include <nlohmann/json.hpp>

#include "runtime/base/error.hpp"
#include "runtime/family/common_config.hpp"
#include "runtime/family/hugging_face_rope.hpp"
#include "runtime/family/json_reader.hpp"

namespace d9d {
namespace {

constexpr const char* mistral_architecture = "MistralForCausalLM";

MistralConfig mistral_defaults() {
  MistralConfig config;
  config.vocab_size = 32000;
  config.hidden_size = 4096;
  config.intermediate_size = 14336;
  config.num_hidden_layers = 32;
  config.num_attention_heads = 32;
  config.num_key_value_heads = 8;
  config.max_position_embeddings = 131072;
  return config;
}

}  // namespace

MistralConfig read_mistral_config(const JsonReader& in) {
  MistralConfig config = mistral_defaults();
  read_sizes(in, config);
  refuse_other_models(in, mistral_architecture);
  read_common(in, config);
  if (!in.has("bos_token_id")) config.bos_token_id = 1;
  if (!in.has("eos_token_id")) config.eos_token_ids = {2};
  config.rope = read_rope(in, config.max_position_embeddings);
  config.windows = read_one_window(in, config.num_hidden_layers, 4096);
  D9D_REQUIRE(!in.flag("attention_bias", false),
              "{}: attention_bias is true, but this family has no biases; remove the key", in.where());
  validate(config, in.where());
  return config;
}

std::string MistralConfig::config_json() const {
  nlohmann::json out = common_config_json(*this, "mistral", mistral_architecture);
  out["intermediate_size"] = intermediate_size;
  write_one_window(windows, out);
  write_rope(rope, out);
  return out.dump(2) + "\n";
}

}  // namespace d9d
