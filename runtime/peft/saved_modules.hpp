#pragma once
// Modules that train whole beside adapters, such as a new head: `modules_to_save` of PEFT's format.

#include <map>
#include <string>
#include <vector>

#include "runtime/peft/adapter_names.hpp"

namespace d9d {

// A parameter and its name in a Hugging Face folder, where it stands alone and unchanged.
struct SavedTensor {
  std::string name;  // "score.weight"
  StageParameter parameter;
};

// The parameters that train and are no adapter's. `parameters`: of the whole adapted model; `adapted`: the modules
// that have adapters. Input error, with the name, for one that PEFT's format cannot hold: a part of another
// tensor, an expert, one of a module that has an adapter or trains in part.
std::vector<SavedTensor> saved_tensors(const StateMapper& to_hugging_face,
                                       const std::vector<StageParameter>& parameters,
                                       const std::vector<AdaptedModule>& adapted);

// The value of adapter_config.json's modules_to_save: the modules of these tensors, each once, in order.
std::vector<std::string> saved_module_names(const std::vector<SavedTensor>& tensors);

// Parameters that a Hugging Face folder holds as they are, by their names there.
std::map<std::string, StageParameter> plain_parameters(const StateMapper& to_hugging_face,
                                                       const std::vector<StageParameter>& parameters);

// The name of such a tensor in adapter_model.safetensors, and back: also as older versions of peft wrote it.
// Empty where the tensor of the file belongs to a factor.
std::string saved_tensor_name(const std::string& name);
std::string name_of_saved_tensor(const std::string& in_file);

}  // namespace d9d
