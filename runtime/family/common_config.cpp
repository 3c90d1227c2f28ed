#include "runtime/family/common_config.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

#include "runtime/base/error.hpp"
#include "runtime/family/json_reader.hpp"

namespace d9d {
namespace {

using nlohmann::json;

std::vector<std::int64_t> eos_of(const JsonReader& in) {
  const json* value = in.find("eos_token_id");
  if (value == nullptr) return {};
  return value->is_array() ? in.integers("eos_token_id")
                           : std::vector<std::int64_t>{in.integer("eos_token_id", 0)};
}

json rounded_tokens(const std::vector<std::int64_t>& ids) {
  if (ids.empty()) return nullptr;
  return ids.size() == 1 ? json(ids.front()) : json(ids);
}

constexpr std::string_view torch_prefix = "torch.";

template <class T>
json or_null(const std::optional<T>& value) {
  return value ? json(*value) : json(nullptr);
}

}  // namespace

void read_common(const JsonReader& in, ModelDescription& model) {
  model.rms_norm_eps = in.number("rms_norm_eps", 1e-6);
  model.initializer_range = in.number("initializer_range", 0.02);
  model.tie_word_embeddings = in.flag("tie_word_embeddings", false);
  model.dtype = in.text("dtype", in.text("torch_dtype", "float32"));
  if (model.dtype.starts_with(torch_prefix)) model.dtype.erase(0, torch_prefix.size());
  model.pad_token_id = in.integer_or_none("pad_token_id", std::nullopt);
  // Counted from the end, as torch counts rows of an embedding: -1 is the last one.
  if (model.pad_token_id && *model.pad_token_id < 0) *model.pad_token_id += model.vocab_size;
  model.bos_token_id = in.integer_or_none("bos_token_id", std::nullopt);
  model.eos_token_ids = eos_of(in);
}

void refuse_other_models(const JsonReader& in, const std::string& architecture,
                         const ActivationKey& activation) {
  const json* list = in.find("architectures");
  if (list != nullptr && list->is_array() && !list->empty()) {
    const std::string given =
        list->front().is_string() ? list->front().get<std::string>() : list->front().dump();
    D9D_REQUIRE(given == architecture,
                "{}: architectures names {}, but only {} is supported for this model_type", in.where(), given,
                architecture);
  }
  const auto& [key, names] = activation;
  const std::string act = in.text(key, names.front());
  D9D_REQUIRE(std::find(names.begin(), names.end(), act) != names.end(),
              "{}: {} is '{}', only {} is supported", in.where(), key, act, names.front());
  const double dropout = in.number("attention_dropout", 0.0);
  D9D_REQUIRE(dropout == 0.0, "{}: attention_dropout is {}, dropout is not supported; set it to 0.0",
              in.where(), dropout);
  D9D_REQUIRE(in.flag("is_causal", true),
              "{}: is_causal is false, only causal attention is supported; set it to true, or remove it",
              in.where());
}

json common_config_json(const ModelDescription& model, const std::string& type,
                        const std::string& architecture) {
  const AttentionOptions attention = model.attention();
  return {{"architectures", {architecture}},
          {"model_type", type},
          {"vocab_size", model.vocab_size},
          {"hidden_size", model.hidden_size},
          {"num_hidden_layers", model.num_hidden_layers},
          {"num_attention_heads", attention.num_heads},
          {"num_key_value_heads", attention.num_kv_heads},
          {"head_dim", attention.head_dim},
          {"hidden_act", "silu"},
          {"max_position_embeddings", model.max_position_embeddings},
          {"rms_norm_eps", model.rms_norm_eps},
          {"initializer_range", model.initializer_range},
          {"tie_word_embeddings", model.tie_word_embeddings},
          {"attention_dropout", 0.0},
          {"use_cache", true},
          {"torch_dtype", model.dtype},
          {"dtype", model.dtype},
          {"pad_token_id", or_null(model.pad_token_id)},
          {"bos_token_id", or_null(model.bos_token_id)},
          {"eos_token_id", rounded_tokens(model.eos_token_ids)}};
}

}  // namespace d9d
