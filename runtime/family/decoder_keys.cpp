#include "runtime/family/decoder_keys.hpp"

#include <algorithm>

#include "runtime/base/error.hpp"
#include "runtime/base/json_text.hpp"
#include "runtime/family/hugging_face_rope.hpp"

namespace d9d {
namespace {

using nlohmann::json;

// As many as query heads where the key is null, or left out by a family without a number of its own.
std::int64_t read_key_value_heads(const JsonReader& in, const DenseDecoder& model) {
  const char* const key = "num_key_value_heads";
  const bool as_many = (in.has(key) && in.find(key) == nullptr) || model.num_key_value_heads == 0;
  return in.integer(key, as_many ? model.num_attention_heads : model.num_key_value_heads);
}

// Without one of the family's own the query heads share hidden_size.
std::int64_t read_head_dim(const JsonReader& in, const DenseDecoder& model) {
  D9D_REQUIRE(model.num_attention_heads > 0, "{}: num_attention_heads is {}, expected an integer above 0",
              in.where(), model.num_attention_heads);
  return in.integer("head_dim",
                    model.head_dim > 0 ? model.head_dim : model.hidden_size / model.num_attention_heads);
}

ModelKeys size_keys() {
  using namespace config;
  return {
      member(
          {"hidden_size", "", "width of the residual stream; required without `from`", optional, at_least(1)},
          &DenseDecoder::hidden_size),
      member({"intermediate_size", "", "width of a dense layer's MLP", optional, at_least(1)},
             &DenseDecoder::intermediate_size),
      member(
          {"num_hidden_layers", "layers", "decoder layers; required without `from`", optional, at_least(1)},
          &DenseDecoder::num_hidden_layers),
      member({"num_attention_heads", "", "query heads; required without `from`", optional, at_least(1)},
             &DenseDecoder::num_attention_heads),
      member(
          {"num_key_value_heads", "", "key and value heads; required without `from`", optional, at_least(1)},
          &DenseDecoder::num_key_value_heads, read_key_value_heads),
      member({"head_dim", "", "width of a head; required without `from`", optional, at_least(2)},
             &DenseDecoder::head_dim, read_head_dim),
      member(
          {"vocab_size", "tokens", "size of the vocabulary; required without `from`", optional, at_least(1)},
          &DenseDecoder::vocab_size),
      member({"max_position_embeddings", "tokens",
              "longest sequence the positions are meant for; null: 32768", optional, at_least(1)},
             &DenseDecoder::max_position_embeddings),
      member({"rms_norm_eps", "", "added to the mean square; null: 1e-6", optional, above(0)},
             &DenseDecoder::rms_norm_eps),
      member(
          {"initializer_range", "", "standard deviation of initial weights; null: 0.02", optional, above(0)},
          &DenseDecoder::initializer_range),
      member({"tie_word_embeddings", "", "head and embedding share their weight; null: the family's"},
             &DenseDecoder::tie_word_embeddings),
      {{"attention_bias", "", "biases on the q, k, v and o projections; null: false"}, &flag_key}};
}

ModelKeys rope_keys() {
  using namespace config;
  return {
      {.key = {"rope_theta", "", "base of the rotary frequencies; null: the family's", optional, above(1)},
       .type = &number_key,
       .read =
           [](const JsonReader& in, FamilyModel& model) {
             model.rope = read_rope(in, model.max_position_embeddings, model.rope.theta);
           },
       .write = [](const FamilyModel& model,
                   json& out) { write_rope(model.rope, model.attention().turning_dim(), out); }},
      {{"rope_scaling", "",
        "RoPE settings as transformers 4 writes them; rope_type may also be ntk, with a factor"}},
      {{"rope_parameters", "", "RoPE settings as transformers 5 writes them, or with rope_type ntk"}},
      {.key = {"rope_interleave", "",
               "RoPE turns neighbouring elements, not those half a head apart; transformers computes it "
               "beside latent attention alone; null: the family's"},
       .type = &flag_key,
       .read = [](const JsonReader& in, FamilyModel& model) { read_pairs(in, false, model); },
       .write =
           [](const FamilyModel& model, json& out) {
             if (model.rope.interleaved) out["rope_interleave"] = true;
           }}};
}

// Counted from the end, as torch counts rows of an embedding: -1 is the last one.
std::optional<std::int64_t> read_padding(const JsonReader& in, const ModelDescription& model) {
  auto id = in.integer_or_none("pad_token_id", model.pad_token_id);
  if (id && *id < 0) *id += model.vocab_size;
  return id;
}

void read_ends(const JsonReader& in, FamilyModel& model) {
  const char* const key = "eos_token_id";
  if (!in.has(key)) return;
  const json* const given = in.find(key);
  model.eos_token_ids.clear();
  if (given != nullptr)
    model.eos_token_ids =
        given->is_array() ? in.integers(key) : std::vector<std::int64_t>{in.integer(key, 0)};
}

void write_ends(const FamilyModel& model, json& out) {
  const std::vector<std::int64_t>& ids = model.eos_token_ids;
  out["eos_token_id"] = ids.empty() ? json(nullptr) : ids.size() == 1 ? json(ids.front()) : json(ids);
}

ModelKeys token_keys() {
  using namespace config;
  return {member({"pad_token_id", "", "token whose embedding gets no gradient", optional, at_least(0)},
                 &FamilyModel::pad_token_id, read_padding),
          member({"bos_token_id", "", "first token of a text, for exports", optional, at_least(0)},
                 &FamilyModel::bos_token_id),
          {.key = {"eos_token_id", "", "last token of a text, or a list, for exports and generation"},
           .read = read_ends,
           .write = write_ends}};
}

// Of the job file alone: resolve_model() makes Hugging Face's of them.
ModelKeys original_keys() {
  using namespace config;
  return {{{"rope_base", "", "the original's name of rope_theta", optional, above(1)}, &number_key},
          {{"max_position_ids", "tokens", "the original's name of max_position_embeddings", optional,
            at_least(1)},
           &integer_key},
          {{"split_vocab_size", "tokens",
            "the original's vocabulary in named parts, instead of vocab_size: each has tables of its own, "
            "model.embed_tokens.NAME and lm_head.NAME"},
           &sizes_key},
          {{"split_vocab_order", "", "the parts in the order of token ids"}, &texts_key},
          {{"pipeline_num_virtual_layers_pre", "layers",
            "weight of the embedding where layers are dealt out to stages; null: 0", optional, at_least(0)},
           &integer_key},
          {{"pipeline_num_virtual_layers_post", "layers",
            "weight of the head where layers are dealt out to stages; null: 0", optional, at_least(0)},
           &integer_key}};
}

ModelKey causal_key() {
  ModelKey key = member(
      {"is_causal", "",
       "false: tokens see those after them, too, as in models for embeddings; windows then reach so far "
       "on both sides; null: true"},
      &FamilyModel::causal);
  key.write = [](const FamilyModel& model, json& out) {
    if (!model.causal) out["is_causal"] = false;  // transformers writes no true
  };
  return key;
}

ModelKeys attention_keys() {
  ModelKey activation{{"hidden_act", "", "activation; only the family's"}};
  only_activation(activation, {"silu", "swish"});
  return {
      std::move(activation),
      causal_key(),
      no_dropout("attention_dropout"),
      {{"use_sliding_window", "", "whether layers attend in a sliding window; null: false"}},
      {{"sliding_window", "tokens", "keys that a query sees, its own the last of them"}},
      {{"max_window_layers", "layers", "which layers have the window, where layer_types does not say it"}},
      {{"layer_types", "", "full_attention, sliding_attention or linear_attention for each layer"}}};
}

void read_dtype(const JsonReader& in, FamilyModel& model) {
  constexpr std::string_view prefix = "torch.";
  model.dtype = in.text("dtype", in.text("torch_dtype", model.dtype));
  if (model.dtype.starts_with(prefix)) model.dtype.erase(0, prefix.size());
}

void refuse_other_architecture(const JsonReader& in, const std::string& architecture) {
  const json* list = in.find("architectures");
  if (list == nullptr || !list->is_array() || list->empty()) return;
  const std::string given =
      list->front().is_string() ? list->front().get<std::string>() : json_text(list->front());
  D9D_REQUIRE(given == architecture,
              "{}: architectures names {}, but only {} is supported for this model_type", in.where(), given,
              architecture);
}

ModelKeys note_keys(const std::string& type, const std::string& architecture) {
  constexpr config::Key note{"", "", "a key of config.json"};
  const auto without_effect = [&](std::string_view name, std::string_view why) {
    config::Key key = note;
    key.name = name, key.no_effect = why;
    return key;
  };
  constexpr std::string_view of_parameters = "`model_provider.dtype` is the type of the parameters";
  return {
      {.key = {"architectures", "", "must name the model's causal language model"},
       .refuse = [=](const JsonReader& in) { refuse_other_architecture(in, architecture); },
       .write = [=](const FamilyModel&, json& out) { out["architectures"] = json::array({architecture}); }},
      {.key = {"model_type", "", "must be the provider's name"},
       .write = [=](const FamilyModel&, json& out) { out["model_type"] = type; }},
      {.key = without_effect("dtype", of_parameters),
       .read = read_dtype,
       .write = [](const FamilyModel& model, json& out) { out["dtype"] = model.dtype; }},
      {.key = without_effect("torch_dtype", of_parameters),
       .write = [](const FamilyModel& model, json& out) { out["torch_dtype"] = model.dtype; }},
      {.key = without_effect("use_cache", "training has no cache"),
       .write = [](const FamilyModel&, json& out) { out["use_cache"] = true; }},
      {without_effect("transformers_version", "it is only a note")}};
}

}  // namespace

ModelKeys decoder_keys(const std::string& type, const std::string& architecture) {
  ModelKeys keys = size_keys();
  append(keys, rope_keys());
  append(keys, token_keys());
  append(keys, original_keys());
  append(keys, attention_keys());
  append(keys, note_keys(type, architecture));
  return keys;
}

void read_pairs(const JsonReader& in, bool absent, FamilyModel& model) {
  model.rope.interleaved = in.flag("rope_interleave", absent);
  if (model.window_rope) model.window_rope->interleaved = model.rope.interleaved;
}

void only_causal(ModelKeys& keys) {
  row(keys, "is_causal").refuse = [](const JsonReader& in) {
    D9D_REQUIRE(in.flag("is_causal", true),
                "{}: is_causal is false, only causal attention is supported in this family; set it to true, "
                "or remove it",
                in.where());
  };
}

ModelKey no_dropout(const char* name) {
  return {.key = {name, "", "only 0"},
          .refuse =
              [name](const JsonReader& in) {
                const double dropout = in.number(name, 0.0);
                D9D_REQUIRE(dropout == 0.0, "{}: {} is {}, dropout is not supported; set it to 0.0",
                            in.where(), name, dropout);
              },
          .write = [name](const FamilyModel&, json& out) { out[name] = 0.0; }};
}

void never_true(ModelKey& key, const std::string& reason) {
  key.refuse = [name = std::string(key.key.name), reason](const JsonReader& in) {
    D9D_REQUIRE(!in.flag(name.c_str(), false), "{}: {} is true, {}", in.where(), name, reason);
  };
}

void never_given(ModelKey& key, const std::string& reason) {
  key.refuse = [name = std::string(key.key.name), reason](const JsonReader& in) {
    D9D_REQUIRE(in.find(name.c_str()) == nullptr, "{}: {} is given, {}", in.where(), name, reason);
  };
}

void only_activation(ModelKey& key, const std::vector<std::string>& names) {
  const std::string name(key.key.name);
  key.refuse = [=](const JsonReader& in) {
    const std::string given = in.text(name.c_str(), names.front());
    D9D_REQUIRE(std::ranges::count(names, given) > 0, "{}: {} is '{}', only {} is supported", in.where(),
                name, given, names.front());
  };
  key.write = [=](const FamilyModel&, json& out) { out[name] = names.front(); };
}

void set_windows(ModelKeys& keys, std::function<LayerWindows(const JsonReader&, const FamilyModel&)> read,
                 std::function<void(const FamilyModel&, json&)> write) {
  ModelKey& width = row(keys, "sliding_window");
  width.read = [read = std::move(read)](const JsonReader& in, FamilyModel& model) {
    model.windows = read(in, model);
  };
  width.write = std::move(write);
}

void set_one_window(ModelKeys& keys, std::int64_t absent) {
  set_windows(
      keys,
      [=](const JsonReader& in, const FamilyModel& model) {
        return read_one_window(in, model.num_hidden_layers, absent);
      },
      [](const FamilyModel& model, json& out) { write_one_window(model.windows, out); });
}

void set_layer_windows(ModelKeys& keys, std::function<bool(std::int64_t, std::int64_t)> slides) {
  set_windows(
      keys,
      [slides = std::move(slides)](const JsonReader& in, const FamilyModel& model) {
        const std::int64_t limit = in.integer("max_window_layers", 28);
        return read_layer_windows(in, model.num_hidden_layers,
                                  [&](std::int64_t layer) { return slides(layer, limit); });
      },
      [](const FamilyModel& model, json& out) {
        write_layer_windows(model.windows, model.num_hidden_layers, out);
      });
}

}  // namespace d9d
