#include "runtime/job/section/model_config.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "runtime/base/byte_order_mark.hpp"
#include "runtime/base/config/decode.hpp"
#include "runtime/base/error.hpp"
#include "runtime/base/json_text.hpp"
#include "runtime/family/families.hpp"
#include "runtime/family/hugging_face_config.hpp"
#include "runtime/family/hugging_face_rope.hpp"
#include "runtime/family/original_keys.hpp"

namespace d9d {
namespace {

using config::Json;
using nlohmann::json;

constexpr const char* where = "model_provider.model";

// The keys given, without those left out.
json given_keys(const Json& all) {
  json keys = json::object();
  for (const auto& [name, value] : all.items()) {
    if (!value.is_null()) keys[name] = value;
  }
  return keys;
}

void require_sizes(const Family& family, const json& keys) {
  std::vector<std::string> missing;
  for (const std::string& name : family.required_keys(keys)) {
    if (!keys.contains(name)) missing.push_back(name);
  }
  D9D_REQUIRE(missing.empty(), "{}: {} missing; add {}, or `from: FOLDER` with a config.json", where,
              fmt::join(missing, ", "), missing.size() == 1 ? "it" : "them");
}

json read_base(const std::string& folder, std::string_view type) {
  const auto file = std::filesystem::path(folder) / "config.json";
  std::error_code ignored;
  const bool is_other =
      std::filesystem::exists(file, ignored) && !std::filesystem::is_regular_file(file, ignored);
  D9D_REQUIRE(!is_other, "model_provider.from: {} is not a regular file; give a Hugging Face folder",
              file.string());
  std::ifstream stream(file, std::ios::binary);
  D9D_REQUIRE(stream, "model_provider.from: cannot read {}; give a Hugging Face folder", file.string());
  std::ostringstream text;
  text << stream.rdbuf();
  require_no_byte_order_mark(text.str(), file.string());
  json base = try_parse_json<json>(text.str());
  D9D_REQUIRE(base.is_object(), "model_provider.from: {} is not a JSON object; give a Hugging Face folder",
              file.string());
  take_text_model(base, folder);
  const std::string found =
      base.value("model_type", json("")).is_string() ? base.value("model_type", "") : "";
  D9D_REQUIRE(found == type,
              "model_provider.from: {} is a model of type \"{}\", but model_provider.name is {}",
              file.string(), found, type);
  return base;
}

// One spelling of RoPE in the base, so that a key given in the job replaces exactly that part.
void settle_rope(json& base) {
  flatten_rope(base);
  json settings = json::object();
  for (const char* name : {"rope_parameters", "rope_scaling"}) {
    if (base.contains(name) && base[name].is_object() && !base[name].empty()) settings = base[name];
    base.erase(name);
  }
  if (settings.contains("rope_theta")) base["rope_theta"] = settings["rope_theta"];
  settings.erase("rope_theta");
  if (!settings.empty()) base["rope_parameters"] = settings;
}

std::int64_t take_count(json& keys, const char* name) {
  const std::int64_t count = keys.value(name, std::int64_t{0});
  keys.erase(name);
  return count;
}

HeadMap heads_of(const FamilyProvider& provider) {
  D9D_REQUIRE(!provider.head || provider.heads.empty(),
              "model_provider.head: given beside `heads`; keep one of them");
  if (provider.head)
    return std::holds_alternative<CausalLmHead>(*provider.head) ? HeadMap() : HeadMap{{"", *provider.head}};
  int of_language = 0;
  for (const auto& [name, head] : provider.heads) {
    D9D_REQUIRE(!name.empty() && name.find('.') == std::string::npos,
                "model_provider.heads: \"{}\" gives its name to modules; choose one without a dot", name);
    of_language += std::holds_alternative<CausalLmHead>(head) ? 1 : 0;
  }
  D9D_REQUIRE(of_language <= 1, "model_provider.heads: {} of them are causal_lm; keep one", of_language);
  return provider.heads;
}

}  // namespace

std::shared_ptr<const FamilyModel> resolve_model(const ModelProviderConfig& choice) {
  const auto* provider = std::get_if<FamilyProvider>(&choice);
  if (provider == nullptr || provider->model.family == nullptr) return nullptr;
  const Family& family = *provider->model.family;
  json keys = given_keys(provider->model.keys);
  family.to_config_keys(keys, where);
  std::vector<VocabularyPart> parts = take_vocabulary(keys, where);
  rename_key(keys, "rope_base", "rope_theta", where);
  rename_key(keys, "max_position_ids", "max_position_embeddings", where);
  const std::int64_t pre = take_count(keys, "pipeline_num_virtual_layers_pre");
  const std::int64_t post = take_count(keys, "pipeline_num_virtual_layers_post");

  json merged = {{"model_type", family.name()}};
  if (provider->from) {
    merged = read_base(*provider->from, family.name());
    settle_rope(merged);
    if (keys.contains("rope_scaling")) merged.erase("rope_parameters");
    family.drop_replaced(merged, keys);
  } else {
    require_sizes(family, keys);
    family.add_defaults(merged);
    // A family's ids of special tokens are those of its own tokenizer.
    for (const char* name : {"bos_token_id", "eos_token_id", "pad_token_id"}) merged[name] = nullptr;
  }
  merged.update(keys);
  merged.erase("torch_dtype");
  if (provider->head || !provider->heads.empty()) merged.erase("architectures");  // the job says it
  merged["dtype"] = name_of(provider->dtype);
  const auto model = parse_hugging_face_config(json_text(merged), where);
  model->vocabulary_parts = std::move(parts);
  model->heads = heads_of(*provider);
  model->hidden_states = provider->hidden_states;
  model->pipeline_num_virtual_layers_pre = pre;
  model->pipeline_num_virtual_layers_post = post;
  return model;
}

}  // namespace d9d

namespace d9d::config {

std::vector<std::string_view> Codec<ModelProviderConfig>::names() {
  std::vector<std::string_view> names;
  for (const Family* family : families()) names.push_back(family->name());
  return names;
}

bool Codec<ModelProviderConfig>::read(ModelProviderConfig& out, const Node& node, const Path& path,
                                      Problems& problems) {
  Node empty;
  const Node* rest = nullptr;
  const Node* tag = read_tag(node, path, problems, "name", names(), empty, rest);
  if (tag == nullptr) return false;
  const Family* const family = find_family(tag->text);
  if (family == nullptr) return Codec<Named>::read(out.emplace<Named>(), node, path, problems);
  auto& provider = out.emplace<FamilyProvider>();
  provider.model = blank_section(*family);
  return Codec<FamilyProvider>::read(provider, *rest, path, problems, "name");
}

Json Codec<ModelProviderConfig>::write(const ModelProviderConfig& value) {
  if (const auto* named = std::get_if<Named>(&value)) return Codec<Named>::write(*named);
  const auto& provider = std::get<FamilyProvider>(value);
  if (provider.model.family == nullptr) return nullptr;
  Json map = {{"name", provider.model.family->name()}};
  map.update(Codec<FamilyProvider>::write(provider));
  return map;
}

void Codec<ModelProviderConfig>::tables(Reference& reference, const std::string& path,
                                        const ModelProviderConfig&) {
  const std::string title = path + " with name: FAMILY";
  std::string note = "FAMILY is one of these.\n";
  for (const Family* family : families())
    note += fmt::format("\n- `{}`: {}", family->name(), family->meaning());
  reference.note(title, note);
  Codec<FamilyProvider>::tables(reference, path, {}, title);
  Codec<Named>::tables(reference, path, Named{});
}

}  // namespace d9d::config
