#pragma once
// Reads and writes adapters as folders in PEFT's format: adapter_config.json and
// adapter_model.safetensors. Blocks on the disk.

#include <functional>
#include <string>
#include <vector>

#include "runtime/peft/adapter_config.hpp"
#include "runtime/peft/saved_modules.hpp"
#include "runtime/state/disk/disk.hpp"

namespace d9d {

// Returns the path of the weights in an adapter's folder. Input error when the file is missing.
std::string adapter_weights_in(const Disk& disk, const std::string& directory);

// Checks that every `lora` with a `from` can start from its folder. The folder must hold exactly the
// adapters of its modules, in their shapes, and of other modules only tensors that are among `saved`.
// `adapters` and `saved`: of the whole model. Input error otherwise.
void check_adapters(const Disk& disk, const std::vector<NamedAdapter>& adapters,
                    const std::vector<SavedTensor>& saved = {});

// Copies this rank's blocks of the adapters that have a `from`, and of whole modules in the same folder,
// into the parameters with these names. Input error where the folder has the frozen weight of a module
// with an adapter (`base_layer`), and the parameter has other values.
void load_adapters(const Disk& disk, const std::vector<NamedAdapter>& adapters,
                   const std::vector<StageParameter>& parameters, const std::vector<SavedTensor>& saved = {});

// Returns the tensors of whole modules in an adapter's folder (for example of a head), by their
// names in a Hugging Face folder.
std::vector<std::string> whole_tensors_in(const Disk& disk, const std::string& directory);

// Writes both files. `adapters` and `saved`: of the whole model. `read`: returns a parameter's whole tensor.
void write_adapters(Disk& disk, const std::string& directory, const std::vector<NamedAdapter>& adapters,
                    const std::vector<SavedTensor>& saved, const std::string& config_json,
                    const std::function<at::Tensor(const std::string& name)>& read);

}  // namespace d9d
