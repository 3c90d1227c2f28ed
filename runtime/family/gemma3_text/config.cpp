#include "runtime/family/gemma3_text/config.hpp"

#include <cmath>

#include "runtime/base/error.hpp"
#include "runtime/family/decoder_keys.hpp"
#include "runtime/family/hugging_face_rope.hpp"
#include "runtime/state/mapper/compose.hpp"
#include "runtime/state/mapper/rename.hpp"

namespace d9d {
namespace {

using nlohmann::json;

constexpr const char* gemma3_text_activation = "gelu_pytorch_tanh";

void refuse_hidden_act(const JsonReader& in) {
  const std::string other = in.text("hidden_act", gemma3_text_activation);
  D9D_REQUIRE(other == gemma3_text_activation,
              "{}: hidden_act is '{}', but this family's activation is hidden_activation, {}; remove the key",
              in.where(), other, gemma3_text_activation);
}

// Full layers turn by the settings at the top, layers with a window by a theta of their own.
void read_ropes(const JsonReader& in, FamilyModel& config) {
  json document = json::object();
  for (const char* key : {"rope_parameters", "rope_scaling", "rope_theta", "rope_local_base_freq",
                          "original_max_position_embeddings", "partial_rotary_factor"}) {
    if (const json* const value = in.find(key)) document[key] = *value;
  }
  flatten_rope(document);
  const JsonReader flat(document, in.where());
  config.rope = read_rope(flat, config.max_position_embeddings, config.rope.theta);
  config.window_rope = RopeOptions{.theta = flat.number("rope_local_base_freq", 1e4)};
}

void write_ropes(const FamilyModel& config, json& out) {
  json windows;
  const std::int64_t dim = config.attention().turning_dim();
  write_rope(*config.window_rope, dim, windows);
  write_rope(config.rope, dim, out);
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

LayerWindows read_windows(const JsonReader& in, const FamilyModel& model) {
  const std::int64_t pattern = in.integer("sliding_window_pattern", 6);
  D9D_REQUIRE(pattern > 0, "{}: sliding_window_pattern is {}, expected an integer above 0", in.where(),
              pattern);
  return read_windows_by_type(in, model.num_hidden_layers, 4096,
                              [=](std::int64_t layer) { return (layer + 1) % pattern != 0; });
}

void write_windows(const FamilyModel& model, json& out) {
  write_windows_by_type(model.windows, model.num_hidden_layers, out);
}

// transformers 5 takes an integer only.
void write_scalar(const FamilyModel& model, json& out) {
  const double scalar = static_cast<const Gemma3TextConfig&>(model).query_pre_attn_scalar;
  out["query_pre_attn_scalar"] =
      scalar == std::floor(scalar) ? json(static_cast<std::int64_t>(scalar)) : json(scalar);
}

ModelKey logit_cap_key() {
  ModelKey cap = member({"final_logit_softcapping", "",
                         "logits are this times the tanh of their share of it; null: as they are",
                         config::optional, config::above(0)},
                        &Gemma3TextConfig::logit_softcap);
  cap.write = [](const FamilyModel& model, json& out) {
    out["final_logit_softcapping"] = model.logit_softcap > 0 ? json(model.logit_softcap) : json(nullptr);
  };
  return cap;
}

ModelKey both_ways_key() {
  ModelKey both_ways =
      member({"use_bidirectional_attention", "",
              "tokens see those after them, too; half of a window reaches to either side; null: false"},
             &Gemma3TextConfig::use_bidirectional_attention);
  both_ways.refuse = [](const JsonReader& in) {
    D9D_REQUIRE(
        in.flag("is_causal", true) || !in.flag("use_bidirectional_attention", false),
        "{}: use_bidirectional_attention is true and is_causal false, but windows reach by the first half as "
        "far as by the second; give one of them",
        in.where());
  };
  both_ways.write = [](const FamilyModel& model, json& out) {
    if (static_cast<const Gemma3TextConfig&>(model).use_bidirectional_attention) {
      out["use_bidirectional_attention"] = true;
      out.erase("is_causal");
    }
  };
  return both_ways;
}

ModelKeys own_gemma3_text_keys() {
  using namespace config;
  ModelKey scalar =
      member({"query_pre_attn_scalar", "", "the inverse of its root is the scale of the scores; null: 256",
              optional, above(0)},
             &Gemma3TextConfig::query_pre_attn_scalar);
  scalar.write = write_scalar;
  ModelKey activation{{"hidden_activation", "", "activation; only gelu_pytorch_tanh"}};
  only_activation(activation, {gemma3_text_activation});
  ModelKey score_cap{{"attn_logit_softcapping", "", "only null"}};
  never_given(score_cap, "but scores have no softcap here; set it to null");
  score_cap.write = [](const FamilyModel&, json& out) { out["attn_logit_softcapping"] = nullptr; };
  return {std::move(scalar),
          {{"rope_local_base_freq", "", "base of the rotary frequencies of layers with a window; null: 10000",
            optional, above(1)},
           &number_key},
          {{"sliding_window_pattern", "layers",
            "every such layer has full attention, the others a window, where layer_types does not say it; "
            "null: 6",
            optional, at_least(1)},
           &integer_key},
          std::move(activation),
          logit_cap_key(),
          std::move(score_cap),
          both_ways_key()};
}

ModelKeys gemma3_text_keys() {
  ModelKeys keys = decoder_keys("gemma3_text", "Gemma3ForCausalLM");
  set_member(keys, "attention_bias", &Gemma3TextConfig::attention_bias);
  row(keys, "rope_theta").read = read_ropes;
  row(keys, "rope_theta").write = write_ropes;
  row(keys, "hidden_act") = {.key = row(keys, "hidden_act").key, .refuse = refuse_hidden_act};
  set_windows(keys, read_windows, write_windows);
  append(keys, own_gemma3_text_keys());
  return keys;
}

}  // namespace

Gemma3TextConfig::Gemma3TextConfig() {
  vocab_size = 262208;
  hidden_size = 2304;
  intermediate_size = 9216;
  num_hidden_layers = 26;
  num_attention_heads = 8;
  num_key_value_heads = 4;
  head_dim = 256;
  max_position_embeddings = 131072;
  zero_centered_norms = true;
  tie_word_embeddings = true;
  pad_token_id = 0;
  bos_token_id = 2;
  eos_token_ids = {1};
  rope.theta = 1e6;
}

const ModelKeys& Gemma3TextConfig::keys() const {
  static const ModelKeys all = gemma3_text_keys();
  return all;
}

void Gemma3TextConfig::settle() {
  if (use_bidirectional_attention) causal = false;
  embedding_scale = std::sqrt(static_cast<double>(hidden_size));
}

AttentionOptions Gemma3TextConfig::attention() const {
  AttentionOptions options = DenseDecoder::attention();
  options.qk_norm = options.zero_centered_norm = true;
  options.scale = 1.0 / std::sqrt(query_pre_attn_scalar);
  options.qkv_bias = options.output_bias = attention_bias;
  return options;
}

SwiGluOptions Gemma3TextConfig::feed_forward() const {
  SwiGluOptions options = DenseDecoder::feed_forward();
  options.activation = Activation::gelu;
  return options;
}

AttentionOptions Gemma3TextConfig::attention_of(std::int64_t layer) const {
  AttentionOptions options = DenseDecoder::attention_of(layer);
  if (use_bidirectional_attention) options.window /= 2;
  return options;
}

BlockCosts Gemma3TextConfig::layer(std::int64_t index, int ranks) const {
  BlockCosts costs = DenseDecoder::layer(index, ranks);
  costs += norm_costs(hidden_size);
  costs += norm_costs(hidden_size);
  costs.summed += hidden_size;  // the feed-forward block's output is normed
  return costs;
}

MapperPtr Gemma3TextConfig::from_hugging_face(const std::set<std::string>& stored) const {
  return with_gemma3_norms(*this, DenseDecoder::from_hugging_face(stored));
}

MapperPtr Gemma3TextConfig::to_hugging_face() const {
  return with_gemma3_norms(*this, DenseDecoder::to_hugging_face());
}

void Gemma3TextConfig::validate(const std::string& where) const {
  D9D_REQUIRE(query_pre_attn_scalar > 0, "{}: query_pre_attn_scalar is {}, expected a number above 0", where,
              query_pre_attn_scalar);
  D9D_REQUIRE(logit_softcap >= 0, "{}: final_logit_softcapping is {}, expected a number above 0, or null",
              where, logit_softcap);
  D9D_REQUIRE(window_rope->theta > 1, "{}: rope_local_base_freq is {}, expected a number above 1", where,
              window_rope->theta);
  D9D_REQUIRE(!use_bidirectional_attention || !windows.any() || windows.width > 1,
              "{}: sliding_window is 1, of which no half reaches to either side; give 2 or more", where);
  DenseDecoder::validate(where);
}

}  // namespace d9d
