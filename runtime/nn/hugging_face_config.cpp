#include "runtime/nn/hugging_face_config.hpp"

#include <fmt/ranges.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "runtime/base/error.hpp"
#include "runtime/nn/hugging_face_rope.hpp"
#include "runtime/nn/json_reader.hpp"

namespace d9d {
namespace {

using nlohmann::json;

ModelFamily family_of(const JsonReader& in) {
  const std::string type = in.text("model_type", "");
  if (type == "qwen3") return ModelFamily::dense;
  if (type == "qwen3_moe") return ModelFamily::moe;
  D9D_REQUIRE(false, "{}: model_type is '{}', expected qwen3 or qwen3_moe; other families are not supported",
              in.where(), type);
  return ModelFamily::dense;
}

void check_architecture(const JsonReader& in, ModelFamily family) {
  const json* list = in.find("architectures");
  if (list == nullptr || !list->is_array() || list->empty()) return;
  const std::string expected = family == ModelFamily::moe ? "Qwen3MoeForCausalLM" : "Qwen3ForCausalLM";
  const std::string given =
      list->front().is_string() ? list->front().get<std::string>() : list->front().dump();
  D9D_REQUIRE(given == expected, "{}: architectures names {}, but only {} is supported for this model_type",
              in.where(), given, expected);
}

// A sliding window is in use when the flag is on, a width is given and some layer has it.
bool slides(const JsonReader& in, const Qwen3Config& config) {
  const json* types = in.find("layer_types");
  const bool window =
      in.flag("use_sliding_window", false) && in.integer_or_none("sliding_window", 4096).has_value();
  if (types != nullptr && config.family == ModelFamily::dense) {
    for (const json& type : *types) {
      if (type != "full_attention") return true;
    }
    return false;
  }
  if (config.family == ModelFamily::moe) return window;
  return window && in.integer("max_window_layers", 28) < config.num_hidden_layers;
}

void refuse_what_changes_numbers(const JsonReader& in, const Qwen3Config& config) {
  D9D_REQUIRE(!slides(in, config),
              "{}: sliding window attention is not supported (use_sliding_window, layer_types); set "
              "use_sliding_window to false, or use a model with full attention",
              in.where());
  const std::string act = in.text("hidden_act", "silu");
  D9D_REQUIRE(act == "silu" || act == "swish", "{}: hidden_act is '{}', only silu is supported", in.where(),
              act);
  const double dropout = in.number("attention_dropout", 0.0);
  D9D_REQUIRE(dropout == 0.0, "{}: attention_dropout is {}, dropout is not supported; set it to 0.0",
              in.where(), dropout);
  const bool auxiliary = config.family == ModelFamily::moe && in.flag("output_router_logits", false) &&
                         in.number("router_aux_loss_coef", 0.001) != 0.0;
  D9D_REQUIRE(
      !auxiliary,
      "{}: output_router_logits adds an auxiliary loss to the training loss, which is not supported; set "
      "output_router_logits to false or router_aux_loss_coef to 0",
      in.where());
  const json* quantised = in.find("quantization_config");
  D9D_REQUIRE(
      quantised == nullptr,
      "{}: quantization_config is given, quantised weights are not supported; use the original weights",
      in.where());
}

std::vector<std::int64_t> eos_of(const JsonReader& in) {
  const json* value = in.find("eos_token_id");
  if (value == nullptr) return {};
  return value->is_array() ? in.integers("eos_token_id")
                           : std::vector<std::int64_t>{in.integer("eos_token_id", 0)};
}

void read_experts(const JsonReader& in, Qwen3Config& config) {
  config.moe_intermediate_size = in.integer("moe_intermediate_size", 768);
  const bool both = in.find("num_experts") != nullptr && in.find("num_local_experts") != nullptr;
  config.num_experts = in.integer("num_experts", in.integer("num_local_experts", 128));
  D9D_REQUIRE(!both || config.num_experts == in.integer("num_local_experts", 0),
              "{}: num_experts is {} and num_local_experts {}; they mean the same, keep one", in.where(),
              config.num_experts, in.integer("num_local_experts", 0));
  config.num_experts_per_tok = in.integer("num_experts_per_tok", 8);
  config.norm_topk_prob = in.flag("norm_topk_prob", false);
  config.decoder_sparse_step = in.integer("decoder_sparse_step", 1);
  config.mlp_only_layers = in.integers("mlp_only_layers");
}

Qwen3Config read_sizes(const JsonReader& in) {
  Qwen3Config config;
  config.family = family_of(in);
  const bool moe = config.family == ModelFamily::moe;
  config.vocab_size = in.integer("vocab_size", 151936);
  config.hidden_size = in.integer("hidden_size", moe ? 2048 : 4096);
  config.intermediate_size = in.integer("intermediate_size", moe ? 6144 : 22016);
  config.num_hidden_layers = in.integer("num_hidden_layers", moe ? 24 : 32);
  config.num_attention_heads = in.integer("num_attention_heads", 32);
  config.num_key_value_heads = in.find("num_key_value_heads") == nullptr && in.has("num_key_value_heads")
                                   ? config.num_attention_heads
                                   : in.integer("num_key_value_heads", moe ? 4 : 32);
  D9D_REQUIRE(config.num_attention_heads > 0, "{}: num_attention_heads is {}, expected an integer above 0",
              in.where(), config.num_attention_heads);
  const std::int64_t even_share = config.hidden_size / config.num_attention_heads;
  config.head_dim = in.integer("head_dim", moe || in.has("head_dim") ? even_share : 128);
  config.max_position_embeddings = in.integer("max_position_embeddings", 32768);
  return config;
}

json rounded_tokens(const std::vector<std::int64_t>& ids) {
  if (ids.empty()) return nullptr;
  return ids.size() == 1 ? json(ids.front()) : json(ids);
}

template <class T>
json or_null(const std::optional<T>& value) {
  return value ? json(*value) : json(nullptr);
}

}  // namespace

Qwen3Config parse_hugging_face_config(std::string_view text, const std::string& where) {
  const json document = json::parse(text, nullptr, false);
  D9D_REQUIRE(document.is_object(), "{}: not a JSON object; expected the config.json of a Hugging Face model",
              where);
  const JsonReader in(document, where);
  Qwen3Config config = read_sizes(in);
  check_architecture(in, config.family);
  config.rms_norm_eps = in.number("rms_norm_eps", 1e-6);
  config.initializer_range = in.number("initializer_range", 0.02);
  config.tie_word_embeddings = in.flag("tie_word_embeddings", false);
  config.attention_bias = in.flag("attention_bias", false);
  config.rope = read_rope(in, config.max_position_embeddings);
  config.dtype = in.text("dtype", in.text("torch_dtype", "float32"));
  config.pad_token_id = in.integer_or_none("pad_token_id", std::nullopt);
  config.bos_token_id = in.integer_or_none("bos_token_id", std::nullopt);
  config.eos_token_ids = eos_of(in);
  if (config.family == ModelFamily::moe) read_experts(in, config);
  refuse_what_changes_numbers(in, config);
  validate(config, where);
  return config;
}

Qwen3Config read_hugging_face_config(const std::filesystem::path& path) {
  const auto file = std::filesystem::is_directory(path) ? path / "config.json" : path;
  std::ifstream stream(file, std::ios::binary);
  if (!stream) {
    throw Error(
        ErrorKind::environment,
        fmt::format("cannot read {}; expected the config.json of a Hugging Face model", file.string()));
  }
  std::ostringstream text;
  text << stream.rdbuf();
  return parse_hugging_face_config(text.str(), file.string());
}

std::string format_hugging_face_config(const Qwen3Config& config) {
  const bool moe = config.family == ModelFamily::moe;
  json out = {{"architectures", {moe ? "Qwen3MoeForCausalLM" : "Qwen3ForCausalLM"}},
              {"model_type", moe ? "qwen3_moe" : "qwen3"},
              {"vocab_size", config.vocab_size},
              {"hidden_size", config.hidden_size},
              {"intermediate_size", config.intermediate_size},
              {"num_hidden_layers", config.num_hidden_layers},
              {"num_attention_heads", config.num_attention_heads},
              {"num_key_value_heads", config.num_key_value_heads},
              {"head_dim", config.head_dim},
              {"hidden_act", "silu"},
              {"max_position_embeddings", config.max_position_embeddings},
              {"rms_norm_eps", config.rms_norm_eps},
              {"initializer_range", config.initializer_range},
              {"tie_word_embeddings", config.tie_word_embeddings},
              {"attention_bias", config.attention_bias},
              {"attention_dropout", 0.0},
              {"use_sliding_window", false},
              {"sliding_window", nullptr},
              {"use_cache", true},
              {"torch_dtype", config.dtype},
              {"dtype", config.dtype},
              {"pad_token_id", or_null(config.pad_token_id)},
              {"bos_token_id", or_null(config.bos_token_id)},
              {"eos_token_id", rounded_tokens(config.eos_token_ids)}};
  write_rope(config.rope, out);
  if (moe) {
    out["moe_intermediate_size"] = config.moe_intermediate_size;
    out["num_experts"] = config.num_experts;
    out["num_local_experts"] = config.num_experts;
    out["num_experts_per_tok"] = config.num_experts_per_tok;
    out["norm_topk_prob"] = config.norm_topk_prob;
    out["decoder_sparse_step"] = config.decoder_sparse_step;
    out["mlp_only_layers"] = config.mlp_only_layers;
    out["output_router_logits"] = false;
  }
  return out.dump(2) + "\n";
}

void write_hugging_face_config(const std::filesystem::path& folder, const Qwen3Config& config) {
  const auto file = folder / "config.json";
  std::ofstream stream(file, std::ios::binary);
  stream << format_hugging_face_config(config);
  stream.flush();
  if (!stream) throw Error(ErrorKind::environment, fmt::format("cannot write {}", file.string()));
}

}  // namespace d9d
