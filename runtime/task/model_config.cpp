#include "runtime/task/model_config.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "runtime/base/config/decode.hpp"
#include "runtime/base/error.hpp"
#include "runtime/nn/hugging_face_config.hpp"

namespace d9d {
namespace {

using config::Json;
using nlohmann::json;

constexpr const char* where = "model_provider.model";

// The keys given, without those left out.
json given_keys(const auto& section) {
  const Json all = config::encode(section);
  json keys = json::object();
  for (const auto& [name, value] : all.items()) {
    if (!value.is_null()) keys[name] = value;
  }
  return keys;
}

// Moves `from`'s value to Hugging Face's `to`; both at once is one too many.
void rename(json& keys, const char* from, const char* to) {
  if (!keys.contains(from)) return;
  D9D_REQUIRE(!keys.contains(to), "{}.{}: means the same as {}, which is given too; keep one", where, from,
              to);
  keys[to] = keys[from];
  keys.erase(from);
}

void flatten_layer(json& keys, bool moe) {
  if (!keys.contains("layer")) return;
  json layer = keys["layer"];
  keys.erase("layer");
  if (moe) {
    rename(layer, "intermediate_size", "moe_intermediate_size");
    rename(layer, "experts_top_k", "num_experts_per_tok");
    layer["norm_topk_prob"] = true;  // the original always renormalises
    // No layer is dense, so this size is of none; the other reader wants one.
    layer["intermediate_size"] = layer["moe_intermediate_size"];
  }
  for (const auto& [name, value] : layer.items()) {
    D9D_REQUIRE(!keys.contains(name), "{}.{}: given beside `layer`, which says it already; keep one", where,
                name);
    keys[name] = value;
  }
}

void join_vocabulary(json& keys) {
  const json sizes = keys.value("split_vocab_size", json::object());
  const json order = keys.value("split_vocab_order", json::array());
  keys.erase("split_vocab_size");
  keys.erase("split_vocab_order");
  if (sizes.empty() && order.empty()) return;
  D9D_REQUIRE(!keys.contains("vocab_size"), "{}.vocab_size: given beside split_vocab_size; keep one", where);
  std::set<std::string> names;
  for (const json& name : order) names.insert(name.get<std::string>());
  std::int64_t total = 0;
  for (const auto& [name, size] : sizes.items()) {
    D9D_REQUIRE(names.contains(name),
                "{}.split_vocab_order: does not name \"{}\" of split_vocab_size; add it", where, name);
    D9D_REQUIRE(size.get<std::int64_t>() > 0, "{}.split_vocab_size.{}: is {}; give at least 1", where, name,
                size.get<std::int64_t>());
    total += size.get<std::int64_t>();
  }
  D9D_REQUIRE(names.size() == sizes.size() && order.size() == names.size(),
              "{}.split_vocab_order: names {} parts, split_vocab_size has {}; name each once", where,
              order.size(), sizes.size());
  keys["vocab_size"] = total;
}

void require_sizes(const json& keys, bool moe) {
  std::vector<std::string> missing;
  const auto need = [&](const char* name) {
    if (!keys.contains(name)) missing.emplace_back(name);
  };
  for (const char* name : {"hidden_size", "num_hidden_layers", "num_attention_heads", "num_key_value_heads",
                           "head_dim", "vocab_size"}) {
    need(name);
  }
  if (!moe) need("intermediate_size");
  if (moe && !keys.contains("num_local_experts")) need("num_experts");
  if (moe) need("moe_intermediate_size");
  if (moe) need("num_experts_per_tok");
  D9D_REQUIRE(missing.empty(), "{}: {} missing; add {}, or `from: FOLDER` with a config.json", where,
              fmt::join(missing, ", "), missing.size() == 1 ? "it" : "them");
}

json read_base(const std::string& folder, const char* type) {
  const auto file = std::filesystem::path(folder) / "config.json";
  std::ifstream stream(file, std::ios::binary);
  D9D_REQUIRE(stream, "model_provider.from: cannot read {}; give a Hugging Face folder", file.string());
  std::ostringstream text;
  text << stream.rdbuf();
  json base = json::parse(text.str(), nullptr, false);
  D9D_REQUIRE(base.is_object(), "model_provider.from: {} is not a JSON object; give a Hugging Face folder",
              file.string());
  const std::string found =
      base.value("model_type", json("")).is_string() ? base.value("model_type", "") : "";
  D9D_REQUIRE(found == type,
              "model_provider.from: {} is a model of type \"{}\", but model_provider.name is {}",
              file.string(), found, type);
  return base;
}

// One spelling of RoPE in the base, so that a key given in the job replaces exactly its own part.
void settle_rope(json& base) {
  json settings = json::object();
  for (const char* name : {"rope_parameters", "rope_scaling"}) {
    if (base.contains(name) && base[name].is_object() && !base[name].empty()) settings = base[name];
    base.erase(name);
  }
  if (settings.contains("rope_theta")) base["rope_theta"] = settings["rope_theta"];
  settings.erase("rope_theta");
  if (!settings.empty()) base["rope_parameters"] = settings;
}

void drop_what_keys_replace(json& base, const json& keys) {
  if (keys.contains("rope_scaling")) base.erase("rope_parameters");
  if (keys.contains("num_experts")) base.erase("num_local_experts");
  if (keys.contains("num_local_experts")) base.erase("num_experts");
}

Qwen3Config resolve(const auto& provider, const char* type, bool moe) {
  json keys = given_keys(provider.model);
  flatten_layer(keys, moe);
  join_vocabulary(keys);
  rename(keys, "rope_base", "rope_theta");
  rename(keys, "max_position_ids", "max_position_embeddings");
  const std::int64_t pre = keys.value("pipeline_num_virtual_layers_pre", std::int64_t{0});
  const std::int64_t post = keys.value("pipeline_num_virtual_layers_post", std::int64_t{0});
  keys.erase("pipeline_num_virtual_layers_pre");
  keys.erase("pipeline_num_virtual_layers_post");

  json merged = {{"model_type", type}};
  if (provider.from) {
    merged = read_base(*provider.from, type);
    settle_rope(merged);
    drop_what_keys_replace(merged, keys);
  } else {
    require_sizes(keys, moe);
  }
  merged.update(keys);
  merged.erase("torch_dtype");
  merged["dtype"] = config::encode(provider.dtype).template get<std::string>();
  Qwen3Config model = parse_hugging_face_config(merged.dump(), where);
  model.pipeline_num_virtual_layers_pre = pre;
  model.pipeline_num_virtual_layers_post = post;
  return model;
}

}  // namespace

std::optional<Qwen3Config> resolve_model(const ModelProviderConfig& provider) {
  if (const auto* moe = std::get_if<Qwen3MoeProvider>(&provider)) return resolve(*moe, "qwen3_moe", true);
  if (const auto* dense = std::get_if<Qwen3Provider>(&provider)) return resolve(*dense, "qwen3", false);
  return std::nullopt;
}

}  // namespace d9d
