#pragma once
// Modules that train whole beside adapters, such as a new head: `modules_to_save` of PEFT's format.

#include <map>
#include <string>
#include <vector>

#include "runtime/peft/adapter_names.hpp"

namespace d9d {

// A parameter and its name in a Hugging Face folder, which holds it unchanged as a tensor of its own.
struct SavedTensor {
  std::string name;  // "score.weight"
  StageParameter parameter;
};

// Returns the parameters that train and belong to no adapter. `parameters`: of the whole adapted
// model. `adapted`: the modules that have adapters. Input error, with the name, for a parameter that
// PEFT's format cannot hold: a part of another tensor, an expert, or one of a module that has an
// adapter or trains only in part.
std::vector<SavedTensor> saved_tensors(const StateMapper& to_hugging_face,
                                       const std::vector<StageParameter>& parameters,
                                       const std::vector<AdaptedModule>& adapted);

// Returns the value of modules_to_save in adapter_config.json: the modules of
// these tensors, each once, in order.
std::vector<std::string> saved_module_names(const std::vector<SavedTensor>& tensors);

// Returns the parameters that a Hugging Face folder holds unchanged, by their names there.
std::map<std::string, StageParameter> plain_parameters(const StateMapper& to_hugging_face,
                                                       const std::vector<StageParameter>& parameters);

// Convert a tensor's name to its name in adapter_model.safetensors and back; the latter also reads names of
// older versions of peft, and returns an empty name for a factor.
std::string saved_tensor_name(const std::string& name);
// Returns the name there of the frozen weight of a module that has an adapter. peft stores it for embeddings and
// heads.
std::string base_layer_name(const std::string& module);
bool is_base_layer(const std::string& in_file);
std::string name_of_saved_tensor(const std::string& in_file);

}  // namespace d9d
