#include "runtime/peft/adapter_config.hpp"

#include <cmath>
#include <nlohmann/json.hpp>

#include "runtime/base/byte_order_mark.hpp"
#include "runtime/base/error.hpp"
#include "runtime/base/json_text.hpp"
#include "runtime/peft/adapter_options.hpp"

namespace d9d {
namespace {

using nlohmann::json;

bool same_size(const LoraParameters& a, const LoraParameters& b) {
  return a.r == b.r && a.alpha == b.alpha;
}

// The parameters that the file gives for all modules: those of experts, for which it cannot give others;
// without experts those of the first adapter.
const LoraParameters& common_parameters(const std::vector<NamedAdapter>& adapters) {
  const LoraParameters* common = nullptr;
  for (const NamedAdapter& named : adapters) {
    const LoraParameters& own = named.adapter.config.params;
    const bool expert = named.modules.front().expert.has_value();
    if (!expert) continue;
    D9D_REQUIRE(common == nullptr || same_size(*common, own),
                "experts have adapters of r {} and {}, or of other alphas: PEFT's format has one for all "
                "experts; give them one `lora`",
                common->r, own.r);
    common = &own;
  }
  return common != nullptr ? *common : adapters.front().adapter.config.params;
}

// Returns 0 when experts or target parameters have adapters: peft refuses to load them with dropout, and a
// trained adapter does not use it.
double dropout_of(const std::vector<NamedAdapter>& adapters, const AdapterTargets& targets) {
  for (const NamedAdapter& named : adapters) {
    if (named.modules.front().expert) return 0;
  }
  return targets.parameters.empty() ? adapters.front().adapter.config.params.dropout : 0;
}

// peft fuses the factors of gate and up to twice the rank, and keeps alpha / rank by twice the alpha: with
// alpha / sqrt(rank) it has to be sqrt(2) alpha, which is said here. Where peft does not see that there are
// experts, all of it is.
void add_fused_projections(const LoraParameters& common, bool takes_projections, json& ranks, json& alphas) {
  if (takes_projections && !common.use_rslora) return;
  ranks[fused_projections] = 2 * common.r;
  alphas[fused_projections] = (common.use_rslora ? std::sqrt(2.0) : 2.0) * common.alpha;
}

}  // namespace

nlohmann::ordered_json read_adapter_config(const Disk& disk, const std::string& directory) {
  const std::string path = join_path(directory, adapter_config_name);
  D9D_REQUIRE(disk.exists(path), "{} is not there; give the folder of an adapter that peft saved", path);
  const std::string text = read_text(disk, path, 1 << 20);
  require_no_byte_order_mark(text, path);
  auto config = try_parse_json<nlohmann::ordered_json>(text);
  D9D_REQUIRE(config.is_object(), "{} is not a JSON object", path);
  const auto type = config.value("peft_type", nlohmann::ordered_json());
  D9D_REQUIRE(type == "LORA", "{} says peft_type = {}, expected \"LORA\"; other adapters are not computed",
              path, json_text(type));
  require_computed_options(config, path);
  return config;
}

std::string adapter_config_json(const std::vector<NamedAdapter>& adapters,
                                const std::vector<std::string>& others, const std::string& base,
                                const AdapterUse& use) {
  const LoraParameters& common = common_parameters(adapters);
  const AdapterTargets targets = targets_of(adapters, others, use.takes_projections);
  json ranks = json::object(), alphas = json::object();
  for (const auto& [adapter, modules] : adapters) {
    const LoraParameters& own = adapter.config.params;
    D9D_REQUIRE(own.use_rslora == common.use_rslora && own.use_dora == common.use_dora,
                "some adapters have use_rslora or use_dora and some have not: PEFT's format has one for all");
    if (same_size(own, common)) continue;
    for (const AdaptedModule& module : modules) {
      const std::string key =
          module.path + (is_target_parameter(module, use.takes_projections) ? ".weight" : "");
      ranks[key] = own.r;
      alphas[key] = own.alpha;
    }
  }
  if (fuses_projections(adapters)) add_fused_projections(common, use.takes_projections, ranks, alphas);
  const json saved = use.modules_to_save.empty() ? json() : json(use.modules_to_save);
  json config = {{"peft_type", "LORA"},
                 {"task_type", use.task_type},
                 {"base_model_name_or_path", base.empty() ? json() : json(base)},
                 {"r", common.r},
                 {"lora_alpha", common.alpha},
                 {"lora_dropout", dropout_of(adapters, targets)},
                 {"use_rslora", common.use_rslora},
                 {"use_dora", common.use_dora},
                 {"target_modules", targets.modules},
                 {"rank_pattern", ranks},
                 {"alpha_pattern", alphas},
                 {"modules_to_save", saved},
                 {"bias", "none"},
                 {"fan_in_fan_out", false},
                 {"inference_mode", true}};
  if (!targets.parameters.empty()) config["target_parameters"] = targets.parameters;
  return json_text(config, 2) + "\n";
}

void require_same_adapters(const Disk& disk, const std::string& directory,
                           const std::vector<const NamedAdapter*>& adapters) {
  const auto config = read_adapter_config(disk, directory);
  const std::string path = join_path(directory, adapter_config_name);
  const auto require = [&](const std::string& what, const json& found, const json& expected) {
    D9D_REQUIRE(found == expected, "{} says {} = {}, the job {}; give what the adapter was trained with",
                path, what, json_text(found), json_text(expected));
  };
  for (const NamedAdapter* named : adapters) {
    const LoraParameters& params = named->adapter.config.params;
    require("use_rslora", says_something(config, "use_rslora"), params.use_rslora);
    require("use_dora", says_something(config, "use_dora"), params.use_dora);
    for (const AdaptedModule& module : named->modules) {
      require("r", option_of_module(config, "rank_pattern", "r", module.path), params.r);
      require("lora_alpha", option_of_module(config, "alpha_pattern", "lora_alpha", module.path),
              params.alpha);
    }
  }
}

}  // namespace d9d
