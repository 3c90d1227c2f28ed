#pragma once
// config.json of the built-in families as transformers 4 and 5 write it. No torch.
//
// Read: rope_theta with rope_scaling, or rope_parameters; torch_dtype or dtype. Absent keys take the
// defaults of transformers 5.23. A setting that would change the numbers in a way the model does not
// compute (dropout, other activations or RoPE types, another head) is an input error that names the key,
// the value and a remedy. quantization_config says how weights are stored, and their reader looks at them.
// Of a multimodal model (Gemma 3 4B, Mistral 3, LLaVA) the text model is read, where it is of a family of ours.

#include <filesystem>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "runtime/family/family_model.hpp"

namespace d9d {

// The family is the one that model_type names. `path` is the file or the folder that holds config.json.
// Environment error when it cannot be read, input error when it is not JSON or not a model of ours.
std::shared_ptr<FamilyModel> read_hugging_face_config(const std::filesystem::path& path);
// Puts the config of the text model, text_config, in the place of that of a multimodal model, with the keys beside it
// that are the text model's too (dtype, ids of tokens, quantization_config, a tied head). Says whether it did; others
// stay as they are. `folder`: of its weights, where there are any: a head that they have is not tied unless that is
// said.
bool take_text_model(nlohmann::json& document, const std::filesystem::path& folder = {});
// The same from text; `where` leads the errors.
std::shared_ptr<FamilyModel> parse_hugging_face_config(std::string_view text, const std::string& where);

}  // namespace d9d
