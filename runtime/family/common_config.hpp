#pragma once
// The keys of config.json that all families share, as transformers 4 and 5 write them. No torch.

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "runtime/family/family_model.hpp"

namespace d9d {

class JsonReader;

// Reads what families have in common into `model`: everything but the sizes, whose defaults differ by family.
void read_common(const JsonReader& in, ModelDescription& model);
// A model's activation in config.json: the key, and the names it may have, of which the first is the default.
struct ActivationKey {
  const char* key = "hidden_act";
  std::vector<std::string> names = {"silu", "swish"};
};
// Input error where `architectures` names another head, for
// another activation, and for settings that no family computes.
void refuse_other_models(const JsonReader& in, const std::string& architecture,
                         const ActivationKey& activation = {});
// The keys that read_common() reads and refuse_other_models() checks, in both spellings where transformers
// 4 and 5 name them differently. `type` is the model_type.
nlohmann::json common_config_json(const ModelDescription& model, const std::string& type,
                                  const std::string& architecture);

}  // namespace d9d
