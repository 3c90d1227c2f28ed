#include "runtime/family/modernbert/config.hpp"

#include <algorithm>
#include <array>

#include "runtime/base/error.hpp"
#include "runtime/family/decoder_keys.hpp"
#include "runtime/family/hugging_face_rope.hpp"

namespace d9d {
namespace {

using nlohmann::json;

constexpr double modernbert_local_theta = 1e4;

// Layers with a window turn by a theta of their own, or where it is null, by that of the others.
void read_modernbert_ropes(const JsonReader& in, FamilyModel& model) {
  json document = json::object();
  for (const char* key : {"rope_parameters", "rope_theta", "rope_local_base_freq"}) {
    if (const json* const value = in.find(key)) document[key] = *value;
  }
  flatten_rope(document);
  const JsonReader flat(document, in.where());
  model.rope =
      read_rope(flat, model.max_position_embeddings, in.number("global_rope_theta", model.rope.theta));
  const bool same = in.has("local_rope_theta") && in.find("local_rope_theta") == nullptr;
  const double local = same ? model.rope.theta : in.number("local_rope_theta", modernbert_local_theta);
  model.window_rope = RopeOptions{.theta = flat.number("rope_local_base_freq", local)};
}

void write_modernbert_ropes(const FamilyModel& model, json& out) {
  json full, windows;
  const std::int64_t dim = model.attention().turning_dim();
  write_rope(model.rope, dim, full);
  write_rope(*model.window_rope, dim, windows);
  out["rope_parameters"] = {{"full_attention", full["rope_parameters"]},
                            {"sliding_attention", windows["rope_parameters"]}};
  out["global_rope_theta"] = full["rope_theta"];
  out["local_rope_theta"] = windows["rope_theta"];
}

void read_modernbert_windows(const JsonReader& in, FamilyModel& model) {
  auto& of = static_cast<ModernBertConfig&>(model);
  of.local_attention = in.integer("local_attention", of.local_attention);
  D9D_REQUIRE(of.local_attention > 1,
              "{}: local_attention is {}, of which no half reaches to either side; give 2 or more",
              in.where(), of.local_attention);
  const std::int64_t every = in.integer("global_attn_every_n_layers", 3);
  D9D_REQUIRE(every > 0, "{}: global_attn_every_n_layers is {}, expected an integer above 0", in.where(),
              every);
  of.windows = read_windows_by_type(in, of.num_hidden_layers, of.local_attention / 2,
                                    [=](std::int64_t layer) { return layer % every != 0; });
}

// Versions of transformers before 5 know layers by their number alone.
void write_modernbert_windows(const FamilyModel& model, json& out) {
  const auto& of = static_cast<const ModernBertConfig&>(model);
  out["local_attention"] = of.local_attention;
  write_layer_types(of.windows, of.num_hidden_layers, out);
  for (std::int64_t every = 1; every <= of.num_hidden_layers; ++every) {
    std::int64_t layer = 0;
    while (layer < of.num_hidden_layers && of.windows.slides(layer) == (layer % every != 0)) ++layer;
    if (layer < of.num_hidden_layers) continue;
    out["global_attn_every_n_layers"] = every;
    return;
  }
}

ModelKeys modernbert_window_keys() {
  using namespace config;
  return {
      {.key = {"local_attention", "tokens",
               "half of it is how many tokens of either side one sees in layers with a window; null: 128",
               optional, at_least(2)},
       .type = &integer_key,
       .read = read_modernbert_windows,
       .write = write_modernbert_windows},
      {{"global_attn_every_n_layers", "layers",
        "every such layer, the first among them, has full attention, the others a window, where "
        "layer_types does not say it; null: 3",
        optional, at_least(1)},
       &integer_key},
      {.key = {"global_rope_theta", "",
               "base of the rotary frequencies of layers without a window; null: 160000", optional, above(1)},
       .type = &number_key,
       .read = read_modernbert_ropes,
       .write = write_modernbert_ropes},
      {{"local_rope_theta", "", "base of the rotary frequencies of layers with a window; left out: 10000",
        optional, above(1)},
       &number_key}};
}

ModelKeys modernbert_head_keys() {
  using namespace config;
  ModelKey norm_bias{{"norm_bias", "", "only false"}, &flag_key};
  never_true(norm_bias, "but norms have no bias here; set it to false");
  norm_bias.write = [](const FamilyModel&, json& out) { out["norm_bias"] = false; };
  ModelKey activation{{"hidden_activation", "", "activation; only gelu"}};
  only_activation(activation, {"gelu"});
  ModelKey of_head{{"classifier_activation", "", "activation of the heads; only gelu"}};
  only_activation(of_head, {"gelu"});
  ModelKey pooling{{"classifier_pooling", "", "what transformers' classifiers read of a text: cls or mean"}};
  pooling.read = [](const JsonReader& in, FamilyModel& model) {
    auto& of = static_cast<ModernBertConfig&>(model);
    of.classifier_pooling = in.text("classifier_pooling", of.classifier_pooling);
  };
  pooling.write = [](const FamilyModel& model, json& out) {
    out["classifier_pooling"] = static_cast<const ModernBertConfig&>(model).classifier_pooling;
  };
  ModelKey head_bias{{"classifier_bias", "", "a bias on the dense layer of the heads; null: false"},
                     &flag_key};
  head_bias.read = [](const JsonReader& in, FamilyModel& model) {
    model.head_transform.bias = in.flag("classifier_bias", model.head_transform.bias);
  };
  head_bias.write = [](const FamilyModel& model, json& out) {
    out["classifier_bias"] = model.head_transform.bias;
  };
  ModelKeys keys = {
      member({"norm_eps", "", "added to the variance; null: 1e-5", optional, above(0)},
             &ModernBertConfig::rms_norm_eps),
      member({"decoder_bias", "", "a bias for each word on its logit; null: true"},
             &ModernBertConfig::logit_bias),
      member({"mlp_bias", "", "biases in feed-forward blocks; null: false"}, &ModernBertConfig::mlp_bias),
      std::move(norm_bias),
      std::move(activation),
      std::move(of_head),
      std::move(pooling),
      std::move(head_bias)};
  for (const char* name : {"embedding_dropout", "mlp_dropout"}) keys.push_back(no_dropout(name));
  return keys;
}

// Of config.json; what transformers trains or computes otherwise by them is said where they have no effect.
ModelKeys modernbert_notes() {
  constexpr std::array<std::pair<const char*, const char*>, 9> notes = {
      {{"classifier_dropout", "`model_provider.head.dropout` is that of the head"},
       {"initializer_cutoff_factor", "initial weights are normal and not cut off"},
       {"cls_token_id", "it is only a note"},
       {"sep_token_id", "it is only a note"},
       {"deterministic_flash_attn", "attention is always deterministic"},
       {"sparse_prediction", "logits of a loss are those of the tokens that count"},
       {"sparse_pred_ignore_index", "-100 it is"},
       {"layer_norm_eps", "transformers reads norm_eps"},
       {"position_embedding_type", "positions are rotary"}}};
  ModelKeys keys;
  for (const auto& [name, why] : notes) {
    config::Key key{name, "", "a key of config.json"};
    key.no_effect = why;
    keys.push_back({key});
  }
  return keys;
}

// Those of other families that mean nothing here.
void erase_modernbert_rows(ModelKeys& keys) {
  constexpr std::array<std::string_view, 14> others = {
      "num_key_value_heads", "head_dim",         "rms_norm_eps",      "rope_theta", "rope_interleave",
      "rope_base",           "split_vocab_size", "split_vocab_order", "hidden_act", "is_causal",
      "use_sliding_window",  "sliding_window",   "max_window_layers", "use_cache"};
  std::erase_if(keys, [&](const ModelKey& key) { return std::ranges::count(others, key.key.name) > 0; });
}

ModelKeys modernbert_keys() {
  ModelKeys keys = decoder_keys("modernbert", "ModernBertForMaskedLM");
  set_member(keys, "attention_bias", &ModernBertConfig::attention_bias);
  never_given(row(keys, "rope_scaling"), "but this family's settings are rope_parameters; give those");
  erase_modernbert_rows(keys);
  append(keys, modernbert_window_keys());
  append(keys, modernbert_head_keys());
  append(keys, modernbert_notes());
  return keys;
}

}  // namespace

ModernBertConfig::ModernBertConfig() {
  vocab_size = 50368;
  hidden_size = 768;
  intermediate_size = 1152;
  num_hidden_layers = 22;
  num_attention_heads = 12;
  max_position_embeddings = 8192;
  rms_norm_eps = 1e-5;
  causal = false;
  norm_kind = NormKind::layer;
  norms_embeddings = true;
  head_transform.wanted = true;
  logit_bias = true;
  tie_word_embeddings = true;
  pad_token_id = 50283;
  bos_token_id = 50281;
  eos_token_ids = {50282};
  rope.theta = 160000;
  window_rope = RopeOptions{.theta = modernbert_local_theta};
}

const ModelKeys& ModernBertConfig::keys() const {
  static const ModelKeys all = modernbert_keys();
  return all;
}

void ModernBertConfig::settle() {
  num_key_value_heads = num_attention_heads;
  head_dim = num_attention_heads > 0 ? hidden_size / num_attention_heads : 0;
}

AttentionOptions ModernBertConfig::attention() const {
  AttentionOptions options = DenseDecoder::attention();
  options.qkv_bias = options.output_bias = attention_bias;
  return options;
}

SwiGluOptions ModernBertConfig::feed_forward() const {
  SwiGluOptions options = DenseDecoder::feed_forward();
  options.activation = Activation::gelu_erf;
  options.bias = mlp_bias;
  return options;
}

BlockCosts ModernBertConfig::layer(std::int64_t index, int ranks) const {
  BlockCosts costs = attention_costs(attention_of(index), ranks);
  if (index > 0) costs += norm_costs(hidden_size);
  costs += norm_costs(hidden_size);
  costs += swiglu_costs(feed_forward(), ranks);
  return costs;
}

void ModernBertConfig::validate(const std::string& where) const {
  D9D_REQUIRE(num_attention_heads > 0 && hidden_size % num_attention_heads == 0,
              "{}: hidden_size is {}, which is no multiple of num_attention_heads ({})", where, hidden_size,
              num_attention_heads);
  D9D_REQUIRE(rms_norm_eps > 0, "{}: norm_eps is {}, expected a number above 0", where, rms_norm_eps);
  D9D_REQUIRE(window_rope->theta > 1, "{}: local_rope_theta is {}, expected a number above 1", where,
              window_rope->theta);
  D9D_REQUIRE(classifier_pooling == "cls" || classifier_pooling == "mean",
              "{}: classifier_pooling is '{}', expected cls or mean", where, classifier_pooling);
  const bool classifies = std::ranges::any_of(
      heads, [](const auto& head) { return std::holds_alternative<ClassificationHead>(head.second); });
  D9D_REQUIRE(!classifies || classifier_pooling == "cls",
              "{}: classifier_pooling is mean, but a head for classes reads the tokens that have labels; set "
              "model_provider.model.classifier_pooling: cls, and give the label of a text to its first token",
              where);
  DenseDecoder::validate(where);
}

}  // namespace d9d
