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

// A sliding window is in use when the flag is on, a width is given and some layer has it.
bool slides(const JsonReader& in, std::int64_t layers) {
  if (in.find("layer_types") != nullptr) return names_sliding_layers(in);
  return in.flag("use_sliding_window", false) && in.integer_or_none("sliding_window", 4096).has_value() &&
         in.integer("max_window_layers", 28) < layers;
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
  D9D_REQUIRE(!slides(in, config.num_hidden_layers),
              "{}: sliding window attention is not supported (use_sliding_window, layer_types); set "
              "use_sliding_window to false, or use a model with full attention",
              in.where());
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
  out["use_sliding_window"] = false;
  out["sliding_window"] = nullptr;
  write_rope(rope, out);
  return out.dump(2) + "\n";
}

}  // namespace d9d
