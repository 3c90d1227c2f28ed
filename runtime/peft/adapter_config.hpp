#pragma once
// Reads and writes adapter_config.json of PEFT's format: which modules of a model
// have adapters, and of which rank.

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

// The use of the adapters.
struct AdapterUse {
  std::string task_type = "CAUSAL_LM";       // in peft's words
  std::vector<std::string> modules_to_save;  // modules that train whole (saved_modules.hpp)
};

// Reads the file of a folder. Input error, with the key, when it is missing or
// is no LoRA that can be computed.
nlohmann::ordered_json read_adapter_config(const Disk& disk, const std::string& directory);

// Returns the file's text for at least one adapter. `others`: paths of the model's linears without adapter.
// Modules are named by their last name alone if none of `others` has it. `base`: base_model_name_or_path.
// Input error when experts have adapters of different ranks or alphas, which PEFT's format cannot express.
std::string adapter_config_json(const std::vector<NamedAdapter>& adapters,
                                const std::vector<std::string>& others, const std::string& base,
                                const AdapterUse& use = {});

// Input error, with the key, unless the folder has a LoRA with the same parameters as `adapters`.
void require_same_adapters(const Disk& disk, const std::string& directory,
                           const std::vector<const NamedAdapter*>& adapters);

}  // namespace d9d
