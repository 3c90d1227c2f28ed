#pragma once
// Adapters as folders in PEFT's format: adapter_config.json and
// adapter_model.safetensors. Blocks on the disk.

#include <functional>
#include <string>
#include <vector>

#include "runtime/peft/adapter_config.hpp"
#include "runtime/state/disk.hpp"

namespace d9d {

// Checks whether every `lora` with a `from` can start from its folder: it holds exactly the adapters of its
// modules, in their shapes. `adapters`: those of the whole model. Input errors.
void check_adapters(const Disk& disk, const std::vector<NamedAdapter>& adapters);

// Copies this rank's blocks of the adapters that have a `from`, into the parameters of these names.
void load_adapters(const Disk& disk, const std::vector<NamedAdapter>& adapters,
                   const std::vector<StageParameter>& parameters);

// Writes both files. `adapters`: those of the whole model; `read` gives the whole tensor of a parameter.
void write_adapters(Disk& disk, const std::string& directory, const std::vector<NamedAdapter>& adapters,
                    const std::string& config_json,
                    const std::function<at::Tensor(const std::string& name)>& read);

}  // namespace d9d
