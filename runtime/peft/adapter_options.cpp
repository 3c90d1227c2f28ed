#include "runtime/peft/adapter_options.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include "runtime/base/error.hpp"
#include "runtime/base/json_text.hpp"
#include "runtime/peft/module_pattern.hpp"

namespace d9d {
namespace {

using Json = nlohmann::ordered_json;

// These keys say whose adapter it is, how it was trained, or which modules it
// has (its tensors say that, too).
constexpr std::array<std::string_view, 16> without_effect_on_values{
    "auto_mapping",     "base_model_name_or_path", "revision",       "peft_version",   "peft_type",
    "task_type",        "inference_mode",          "lora_dropout",   "target_modules", "exclude_modules",
    "megatron_core",    "layers_to_transform",     "layers_pattern", "eva_config",     "ensure_weight_tying",
    "target_parameters"};

// Callers compute with these keys, or compare them.
constexpr std::array<std::string_view, 7> computed{
    "r", "lora_alpha", "rank_pattern", "alpha_pattern", "use_rslora", "use_dora", "modules_to_save"};

constexpr const char* options_remedy = "merge it with peft (merge_and_unload) and take the merged folder";

bool is_empty(const Json& value) {
  return value.is_null() || value == Json(false) ||
         ((value.is_object() || value.is_array()) && value.empty());
}

// Whether the initialisation of the factors left the base model's weights alone. Some
// ways subtract a part from them.
bool leaves_base_alone(const Json& begin) {
  if (begin.is_boolean()) return true;
  const std::array<const char*, 3> names{"gaussian", "orthogonal", "eva"};
  return std::any_of(names.begin(), names.end(), [&](const char* name) { return begin == Json(name); });
}

template <class List>
bool has(const List& list, const std::string& key) {
  return std::find(list.begin(), list.end(), key) != list.end();
}

bool is_fine(const Json& config, const std::string& key, const Json& value) {
  if (is_empty(value) || has(without_effect_on_values, key) || has(computed, key)) return true;
  if (key == "bias") return value == Json("none");
  if (key == "qalora_group_size") return !says_something(config, "use_qalora");
  if (key == "runtime_config") return !says_something(value, "ephemeral_gpu_offload");
  return false;
}

bool is_parameter_named(const Json& config, const std::string& weight) {
  const Json targets = config.value("target_parameters", Json::array());
  return std::any_of(targets.begin(), targets.end(), [&](const Json& target) {
    return target.is_string() && ends_with_names(weight, target.get<std::string>());
  });
}

}  // namespace

bool says_something(const Json& config, const char* key) {
  const auto found = config.find(key);
  return found != config.end() && !is_empty(*found);
}

void require_computed_options(const Json& config, const std::string& path) {
  for (const auto& [key, value] : config.items()) {
    if (key == "init_lora_weights") {
      D9D_REQUIRE(
          is_empty(value) || leaves_base_alone(value),
          "{} says {} = {}, which takes a part out of the base model's weights as well; save the adapter "
          "with peft's path_initial_model_for_weight_conversion, or {}",
          path, key, json_text(value), options_remedy);
    } else {
      D9D_REQUIRE(is_fine(config, key, value), "{} says {} = {}, which is not computed; {}", path, key,
                  json_text(value), options_remedy);
    }
  }
}

Json option_of_module(const Json& config, const char* patterns, const char* common,
                      const std::string& module) {
  const Json all = config.value(patterns, Json::object());
  if (all.is_object() && !all.empty()) {
    const std::string weight = module + ".weight";
    const std::string& name = is_parameter_named(config, weight) ? weight : module;
    for (const auto& [pattern, value] : all.items()) {
      if (ModulePattern("(.*\\.)?(" + pattern + ")").matches(name)) return value;
    }
  }
  return config.value(common, Json());
}

}  // namespace d9d
