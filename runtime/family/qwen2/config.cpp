#include "runtime/family/qwen2/config.hpp"

#include <nlohmann/json.hpp>

#include "runtime/base/error.hpp"
#include "runtime/family/common_config.hpp"
#include "runtime/family/hugging_face_rope.hpp"
#include "runtime/family/json_reader.hpp"

namespace d9d {
namespace {

constexpr const char* qwen2_architecture = "Qwen2ForCausalLM";

Qwen2Config qwen2_defaults() {
  Qwen2Config config;
  config.vocab_size = 151936;
  config.hidden_size = 4096;
  config.intermediate_size = 22016;
  config.num_hidden_layers = 32;
  config.num_attention_heads = 32;
  config.num_key_value_heads = 32;
  config.max_position_embeddings = 32768;
  return config;
}

}  // namespace

AttentionOptions Qwen2Config::attention() const {
  AttentionOptions options = DenseDecoder::attention();
  options.qkv_bias = true;
  return options;
}

Qwen2Config read_qwen2_config(const JsonReader& in) {
  Qwen2Config config = qwen2_defaults();
  read_sizes(in, config);
  refuse_other_models(in, qwen2_architecture);
  read_common(in, config);
  config.rope = read_rope(in, config.max_position_embeddings);
  const std::int64_t full_layers = in.integer("max_window_layers", 28);
  config.windows = read_layer_windows(in, config.num_hidden_layers,
                                      [=](std::int64_t layer) { return layer >= full_layers; });
  D9D_REQUIRE(in.find("attention_bias") == nullptr,
              "{}: attention_bias is given, but this family always has biases on q, k and v and none on o; "
              "remove the key",
              in.where());
  validate(config, in.where());
  return config;
}

std::string Qwen2Config::config_json() const {
  nlohmann::json out = common_config_json(*this, "qwen2", qwen2_architecture);
  out["intermediate_size"] = intermediate_size;
  write_layer_windows(windows, num_hidden_layers, out);
  write_rope(rope, out);
  return out.dump(2) + "\n";
}

}  // namespace d9d
