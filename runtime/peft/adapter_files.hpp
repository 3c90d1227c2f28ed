#pragma once
// Adapters as folders in PEFT's format: adapter_config.json and
// adapter_model.safetensors. Blocks on the disk.

#include <functional>
#include <string>
#include <vector>

#include "runtime/peft/adapter_config.hpp"
#include "runtime/peft/saved_modules.hpp"
#include "runtime/state/disk/disk.hpp"

namespace d9d {

// The weights' file of an adapter's folder. Input error when it is not there.
std::string adapter_weights_in(const Disk& disk, const std::string& directory);

// Checks whether every `lora` with a `from` can start from its folder: it holds exactly the adapters of its
// modules, in their shapes, and of other modules what is among `saved`. Both of the whole model. Input errors.
void check_adapters(const Disk& disk, const std::vector<NamedAdapter>& adapters,
                    const std::vector<SavedTensor>& saved = {});

// Copies this rank's blocks of the adapters that have a `from`, and of the modules that lie whole beside them, into
// the parameters of these names.
void load_adapters(const Disk& disk, const std::vector<NamedAdapter>& adapters,
                   const std::vector<StageParameter>& parameters, const std::vector<SavedTensor>& saved = {});

// The names in a Hugging Face folder of the modules' tensors that an adapter's folder holds whole: a head, say.
std::vector<std::string> whole_tensors_in(const Disk& disk, const std::string& directory);

// Writes both files. `adapters` and `saved` are those of the whole model. `read` gives a parameter's whole tensor.
void write_adapters(Disk& disk, const std::string& directory, const std::vector<NamedAdapter>& adapters,
                    const std::vector<SavedTensor>& saved, const std::string& config_json,
                    const std::function<at::Tensor(const std::string& name)>& read);

}  // namespace d9d
