#include "runtime/family/gemma3_text/config.hpp"

#include <cmath>
#include <nlohmann/json.hpp>

#include "runtime/base/error.hpp"
#include "runtime/family/common_config.hpp"
#include "runtime/family/hugging_face_rope.hpp"
#include "runtime/family/json_reader.hpp"
#include "runtime/state/mapper/compose.hpp"
#include "runtime/state/mapper/rename.hpp"

namespace d9d {
namespace {

using nlohmann::json;

constexpr const char* gemma3_text_architecture = "Gemma3ForCausalLM";
constexpr const char* gemma3_text_activation = "gelu_pytorch_tanh";

Gemma3TextConfig gemma3_text_defaults() {
  Gemma3TextConfig config;
  config.vocab_size = 262208;
  config.hidden_size = 2304;
  config.intermediate_size = 9216;
  config.num_hidden_layers = 26;
  config.num_attention_heads = 8;
  config.num_key_value_heads = 4;
  config.max_position_embeddings = 131072;
  return config;
}

void refuse_uncomputed(const JsonReader& in) {
  refuse_other_models(in, gemma3_text_architecture, {"hidden_activation", {gemma3_text_activation}});
  const std::string other = in.text("hidden_act", gemma3_text_activation);
  D9D_REQUIRE(other == gemma3_text_activation,
              "{}: hidden_act is '{}', but this family's activation is hidden_activation, {}; remove the key",
              in.where(), other, gemma3_text_activation);
  D9D_REQUIRE(in.find("attn_logit_softcapping") == nullptr,
              "{}: attn_logit_softcapping is given, but scores have no softcap here; set it to null",
              in.where());
  D9D_REQUIRE(!in.flag("use_bidirectional_attention", false),
              "{}: use_bidirectional_attention is true, only causal attention is supported; set it to false",
              in.where());
}

// Full layers turn by the settings at the top, layers with a window by a theta of their own.
void read_ropes(const JsonReader& in, Gemma3TextConfig& config) {
  json document = json::object();
  for (const char* key : {"rope_parameters", "rope_scaling", "rope_theta", "rope_local_base_freq",
                          "original_max_position_embeddings", "partial_rotary_factor"}) {
    if (const json* const value = in.find(key)) document[key] = *value;
  }
  flatten_rope(document);
  const JsonReader flat(document, in.where());
  config.rope = read_rope(flat, config.max_position_embeddings, 1e6);
  config.window_rope = RopeOptions{.theta = flat.number("rope_local_base_freq", 1e4)};
}

void write_ropes(const Gemma3TextConfig& config, json& out) {
  json windows;
  write_rope(*config.window_rope, windows);
  write_rope(config.rope, out);
  out["rope_parameters"] = {{"full_attention", out["rope_parameters"]},
                            {"sliding_attention", windows["rope_parameters"]}};
  out["rope_local_base_freq"] = config.window_rope->theta;
}

// What a layer has beside the tensors of other dense decoders.
MapperPtr with_gemma3_norms(const Gemma3TextConfig& config, MapperPtr others) {
  std::vector<MapperPtr> mappers = {std::move(others)};
  for (std::int64_t layer = 0; layer < config.num_hidden_layers; ++layer) {
    for (const char* norm :
         {"self_attn.q_norm", "self_attn.k_norm", "pre_feedforward_layernorm", "post_feedforward_layernorm"})
      mappers.push_back(identity(fmt::format("model.layers.{}.{}.weight", layer, norm)));
  }
  return parallel(std::move(mappers));
}

}  // namespace

AttentionOptions Gemma3TextConfig::attention() const {
  AttentionOptions options = DenseDecoder::attention();
  options.qk_norm = options.zero_centered_norm = true;
  options.scale = 1.0 / std::sqrt(query_pre_attn_scalar);
  options.qkv_bias = options.output_bias = attention_bias;
  return options;
}

BlockCosts Gemma3TextConfig::layer(std::int64_t index, int ranks) const {
  BlockCosts costs = DenseDecoder::layer(index, ranks);
  costs += norm_costs(hidden_size);
  costs += norm_costs(hidden_size);
  return costs;
}

MapperPtr Gemma3TextConfig::from_hugging_face(const std::set<std::string>& stored) const {
  return with_gemma3_norms(*this, DenseDecoder::from_hugging_face(stored));
}

MapperPtr Gemma3TextConfig::to_hugging_face() const {
  return with_gemma3_norms(*this, DenseDecoder::to_hugging_face());
}

Gemma3TextConfig read_gemma3_text_config(const JsonReader& in) {
  Gemma3TextConfig config = gemma3_text_defaults();
  read_sizes(in, config);
  config.head_dim = in.integer("head_dim", 256);
  refuse_uncomputed(in);
  read_common(in, config);
  config.tie_word_embeddings = in.flag("tie_word_embeddings", true);
  config.pad_token_id = in.integer_or_none("pad_token_id", 0);
  config.bos_token_id = in.integer_or_none("bos_token_id", 2);
  if (!in.has("eos_token_id")) config.eos_token_ids = {1};
  config.embedding_scale = std::sqrt(static_cast<double>(config.hidden_size));
  config.logit_softcap = in.number("final_logit_softcapping", 0);
  config.query_pre_attn_scalar = in.number("query_pre_attn_scalar", 256);
  config.attention_bias = in.flag("attention_bias", false);
  read_ropes(in, config);
  const std::int64_t pattern = in.integer("sliding_window_pattern", 6);
  D9D_REQUIRE(pattern > 0, "{}: sliding_window_pattern is {}, expected an integer above 0", in.where(),
              pattern);
  config.windows = read_windows_by_type(in, config.num_hidden_layers, 4096,
                                        [=](std::int64_t layer) { return (layer + 1) % pattern != 0; });
  validate(config, in.where());
  return config;
}

std::string Gemma3TextConfig::config_json() const {
  json out = common_config_json(*this, "gemma3_text", gemma3_text_architecture);
  out.erase("hidden_act");
  out["hidden_activation"] = gemma3_text_activation;
  out["intermediate_size"] = intermediate_size;
  out["attention_bias"] = attention_bias;
  out["query_pre_attn_scalar"] = query_pre_attn_scalar;
  // transformers 5 takes an integer only.
  if (query_pre_attn_scalar == std::floor(query_pre_attn_scalar))
    out["query_pre_attn_scalar"] = static_cast<std::int64_t>(query_pre_attn_scalar);
  out["attn_logit_softcapping"] = nullptr;
  out["final_logit_softcapping"] = logit_softcap > 0 ? json(logit_softcap) : json(nullptr);
  write_one_window(windows, out);
  write_layer_types(windows, num_hidden_layers, out);
  write_ropes(*this, out);
  return out.dump(2) + "\n";
}

void validate(const Gemma3TextConfig& config, const std::string& where) {
  D9D_REQUIRE(config.query_pre_attn_scalar > 0, "{}: query_pre_attn_scalar is {}, expected a number above 0",
              where, config.query_pre_attn_scalar);
  D9D_REQUIRE(config.logit_softcap >= 0,
              "{}: final_logit_softcapping is {}, expected a number above 0, or null", where,
              config.logit_softcap);
  D9D_REQUIRE(config.window_rope->theta > 1, "{}: rope_local_base_freq is {}, expected a number above 1",
              where, config.window_rope->theta);
  validate(static_cast<const DenseDecoder&>(config), where);
}

}  // namespace d9d
