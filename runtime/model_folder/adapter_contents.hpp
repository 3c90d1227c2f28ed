#pragma once
// What the folder of a job's adapter holds in PEFT's format, known before the first step.

#include <string>
#include <vector>

#include "runtime/family/family_model.hpp"
#include "runtime/peft/adapter_config.hpp"
#include "runtime/peft/saved_modules.hpp"

namespace d9d {

// These adapters with the modules that they are of. Input error where a folder has no such modules (modules_of).
std::vector<NamedAdapter> named_adapters(const FamilyModel& model, const std::vector<LoraAdapter>& adapters);

struct AdapterContents {
  std::vector<SavedTensor> saved;  // that train beside the adapters
  std::string config_json;
};
// Input error, with the name, for a parameter that trains and that PEFT's format cannot hold; where training moves the
// routers' biases; where there is no adapter; where adapters differ in what that format says once for all.
// `base`: base_model_name_or_path.
AdapterContents adapter_contents(const FamilyModel& model, StageModule& adapted,
                                 const std::vector<NamedAdapter>& adapters, const std::string& base);

}  // namespace d9d
