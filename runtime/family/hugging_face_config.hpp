#pragma once
// config.json of the built-in families as transformers 4 and 5 write it. No torch.
//
// Read: rope_theta with rope_scaling, or rope_parameters; torch_dtype or dtype. Absent keys take the defaults
// of transformers 5.23. A setting that would change the numbers in a way the model does not compute (a
// sliding window in use, dropout, other activations or RoPE types, quantised weights, another head) is an
// input error that names the key, the value and a remedy.

#include <filesystem>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "runtime/family/family_model.hpp"

namespace d9d {

class JsonReader;

// The family is the one that model_type names. `path` is the file or the folder that holds config.json.
// Environment error when it cannot be read, input error when it is not JSON or not a model of ours.
std::shared_ptr<FamilyModel> read_hugging_face_config(const std::filesystem::path& path);
// The same from text; `where` leads the errors.
std::shared_ptr<FamilyModel> parse_hugging_face_config(std::string_view text, const std::string& where);

// What families read alike: everything of ModelDescription but the sizes, which have defaults of their own.
void read_common(const JsonReader& in, ModelDescription& model);
// Input error where `architectures` names another head, and for settings that no family computes.
void refuse_other_models(const JsonReader& in, const std::string& architecture);
// Whether `layer_types` names a layer without full attention.
bool names_sliding_layers(const JsonReader& in);
// The keys that read_common reads and refuse_other_models looks at, in both spellings where transformers 4
// and 5 name them differently; `type` is the model_type.
nlohmann::json common_config_json(const ModelDescription& model, const std::string& type,
                                  const std::string& architecture);

}  // namespace d9d
