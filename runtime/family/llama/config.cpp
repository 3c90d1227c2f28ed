#include "runtime/family/llama/config.hpp"

#include <nlohmann/json.hpp>

#include "runtime/base/error.hpp"
#include "runtime/family/common_config.hpp"
#include "runtime/family/hugging_face_rope.hpp"
#include "runtime/family/json_reader.hpp"

namespace d9d {
namespace {

constexpr const char* llama_architecture = "LlamaForCausalLM";

LlamaConfig llama_defaults() {
  LlamaConfig config;
  config.vocab_size = 32000;
  config.hidden_size = 4096;
  config.intermediate_size = 11008;
  config.num_hidden_layers = 32;
  config.num_attention_heads = 32;
  config.max_position_embeddings = 2048;
  return config;
}

}  // namespace

AttentionOptions LlamaConfig::attention() const {
  AttentionOptions options = DenseDecoder::attention();
  options.qkv_bias = attention_bias;
  options.output_bias = attention_bias;
  return options;
}

LlamaConfig read_llama_config(const JsonReader& in) {
  LlamaConfig config = llama_defaults();
  read_sizes(in, config);
  refuse_other_models(in, llama_architecture);
  read_common(in, config);
  if (!in.has("bos_token_id")) config.bos_token_id = 1;
  if (!in.has("eos_token_id")) config.eos_token_ids = {2};
  config.attention_bias = in.flag("attention_bias", false);
  config.rope = read_rope(in, config.max_position_embeddings);
  D9D_REQUIRE(!in.flag("mlp_bias", false),
              "{}: mlp_bias is true, biases of the feed-forward layers are not supported; use a model with "
              "mlp_bias false",
              in.where());
  validate(config, in.where());
  return config;
}

std::string LlamaConfig::config_json() const {
  nlohmann::json out = common_config_json(*this, "llama", llama_architecture);
  out["intermediate_size"] = intermediate_size;
  out["attention_bias"] = attention_bias;
  out["mlp_bias"] = false;
  write_rope(rope, out);
  return out.dump(2) + "\n";
}

}  // namespace d9d
