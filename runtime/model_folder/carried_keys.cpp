#include "runtime/model_folder/carried_keys.hpp"

#include <algorithm>
#include <array>

#include "runtime/base/json_text.hpp"
#include "runtime/family/family.hpp"
#include "runtime/family/hugging_face_config.hpp"

namespace d9d {
namespace {

using nlohmann::json;

constexpr std::uint64_t source_config_bytes_max = std::uint64_t{1} << 24;

constexpr std::array<const char*, 4> label_keys{"id2label", "label2id", "num_labels", "problem_type"};

constexpr std::array<const char*, 11> false_of_exports{"quantization_config",
                                                       "compression_config",
                                                       "auto_map",
                                                       "_name_or_path",
                                                       "_commit_hash",
                                                       "rope_theta",
                                                       "rope_scaling",
                                                       "rope_parameters",
                                                       "rope_local_base_freq",
                                                       "partial_rotary_factor",
                                                       "original_max_position_embeddings"};

template <class List>
bool names_key(const List& list, const std::string& key) {
  return std::any_of(list.begin(), list.end(), [&](const char* each) { return key == each; });
}

json config_keys_given(const FamilyProvider& provider) {
  json keys = json::object();
  if (!provider.model.keys.is_object()) return keys;
  for (const auto& [name, value] : provider.model.keys.items()) {
    if (!value.is_null()) keys[name] = value;
  }
  provider.model.family->to_config_keys(keys, "model_provider.model");
  return keys;
}

// transformers refuses a list of another length than the model's.
bool fits(const std::string& key, const json& value, const json& config) {
  return key != "layer_types" || value.size() == config.value("num_hidden_layers", std::size_t{0});
}

std::int64_t labels_in(const json& carried) {
  const auto names = carried.find("id2label");
  if (names != carried.end() && names->is_object()) return std::ssize(*names);
  const auto number = carried.find("num_labels");
  return number != carried.end() && number->is_number_integer() ? number->get<std::int64_t>() : 0;
}

}  // namespace

json carried_keys(const Disk& disk, const FamilyProvider& provider, const std::string& folder) {
  const std::string path = join_path(folder, "config.json");
  if (folder.empty() || provider.model.family == nullptr || !disk.exists(path)) return json::object();
  json config = try_parse_json<json>(read_text(disk, path, source_config_bytes_max));
  if (config.is_object()) take_text_model(config, folder);
  if (!config.is_object() ||
      config.value("model_type", json()) != json(std::string(provider.model.family->name())))
    return json::object();
  const json keys = config_keys_given(provider);
  provider.model.family->drop_replaced(config, keys);
  json carried = json::object();
  for (const auto& [key, value] : config.items()) {
    if (names_key(false_of_exports, key)) continue;
    carried[key] = keys.contains(key) ? keys[key] : value;
  }
  return carried;
}

void add_carried_keys(const json& carried, std::int64_t labels, json& config) {
  const bool same_labels = labels > 0 && labels_in(carried) == labels;
  for (const auto& [key, value] : carried.items()) {
    if (names_key(label_keys, key)) {
      // What the head learns is the job's to say.
      const bool is_said = key == "problem_type" && config.contains(key);
      if (same_labels && !is_said) config[key] = value;
      continue;
    }
    const bool says_nothing_here = key == "use_cache";  // a constant of all families
    if ((!config.contains(key) || says_nothing_here) && fits(key, value, config)) config[key] = value;
  }
}

}  // namespace d9d
