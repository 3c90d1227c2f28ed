#pragma once
// adapter_config.json of PEFT's format: which modules of a model have adapters, of which rank.

#include <string>
#include <vector>

#include "runtime/peft/adapter_names.hpp"
#include "runtime/state/disk.hpp"

namespace d9d {

inline constexpr const char* adapter_config_name = "adapter_config.json";
inline constexpr const char* adapter_weights_name = "adapter_model.safetensors";

struct NamedAdapter {
  LoraAdapter adapter;
  std::vector<AdaptedModule> modules;
};

// The text for these adapters, at least one. `others`: paths of the model's linears without adapter: where
// none has the last name of an adapted one, that name alone stands for all. `base`: base_model_name_or_path.
// Input error when experts have adapters of different ranks or alphas, which PEFT's format cannot say.
std::string adapter_config_json(const std::vector<NamedAdapter>& adapters,
                                const std::vector<std::string>& others, const std::string& base);

// Input error, with the key, unless the folder's adapter is a LoRA that computes with the parameters of these.
void require_same_adapters(const Disk& disk, const std::string& directory,
                           const std::vector<const NamedAdapter*>& adapters);

}  // namespace d9d
