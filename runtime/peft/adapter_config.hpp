#pragma once
// adapter_config.json of PEFT's format: which modules of a model have adapters, of which rank.

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "runtime/peft/adapter_names.hpp"
#include "runtime/state/disk/disk.hpp"

namespace d9d {

inline constexpr const char* adapter_config_name = "adapter_config.json";
inline constexpr const char* adapter_weights_name = "adapter_model.safetensors";

struct NamedAdapter {
  LoraAdapter adapter;
  std::vector<AdaptedModule> modules;
};

// What the adapters are of.
struct AdapterUse {
  std::string task_type = "CAUSAL_LM";       // as peft names them
  std::vector<std::string> modules_to_save;  // that train whole (saved_modules.hpp)
};

// The file of a folder. Input error, with the key, when it is not there or is no LoRA that can be computed.
nlohmann::ordered_json read_adapter_config(const Disk& disk, const std::string& directory);

// The text for these adapters, at least one. `others`: paths of the model's linears without adapter: where
// none has the last name of an adapted one, that name alone stands for all. `base`: base_model_name_or_path.
// Input error when experts have adapters of different ranks or alphas, which PEFT's format cannot say.
std::string adapter_config_json(const std::vector<NamedAdapter>& adapters,
                                const std::vector<std::string>& others, const std::string& base,
                                const AdapterUse& use = {});

// Input error, with the key, unless the folder's adapter is a LoRA that computes with the parameters of these.
void require_same_adapters(const Disk& disk, const std::string& directory,
                           const std::vector<const NamedAdapter*>& adapters);

}  // namespace d9d
