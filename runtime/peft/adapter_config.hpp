#pragma once
// Reads and writes adapter_config.json of PEFT's format: which modules of a model
// have adapters, and of which rank.

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "runtime/peft/adapter_targets.hpp"
#include "runtime/state/disk/disk.hpp"

namespace d9d {

inline constexpr const char* adapter_config_name = "adapter_config.json";
inline constexpr const char* adapter_weights_name = "adapter_model.safetensors";

// The use of the adapters.
struct AdapterUse {
  std::string task_type = "CAUSAL_LM";       // in peft's words
  std::vector<std::string> modules_to_save;  // modules that train whole (saved_modules.hpp)
  bool takes_projections = false;            // FamilyModel::peft_takes_projections()
};

// Reads the file of a folder. Input error, with the key, when it is missing or
// is no LoRA that can be computed.
nlohmann::ordered_json read_adapter_config(const Disk& disk, const std::string& directory);

// Returns the file's text for at least one adapter. `others`: paths of the model's linears without adapter.
// `base`: base_model_name_or_path. Input error when experts have adapters of different ranks or alphas, which
// PEFT's format cannot express, and where targets_of() throws.
std::string adapter_config_json(const std::vector<NamedAdapter>& adapters,
                                const std::vector<std::string>& others, const std::string& base,
                                const AdapterUse& use = {});

// Input error, with the key, unless the folder has a LoRA with the same parameters as `adapters`.
void require_same_adapters(const Disk& disk, const std::string& directory,
                           const std::vector<const NamedAdapter*>& adapters);

}  // namespace d9d
