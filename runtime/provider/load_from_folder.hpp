#pragma once
// Fills this rank's tensors of a stage from a folder in Hugging Face's layout. Blocks on the disk.

#include <string>
#include <vector>

#include "runtime/state/mapper/mapper.hpp"
#include "runtime/state/model/model_reader.hpp"
#include "runtime/tensor/stage_module.hpp"

namespace d9d {

// Whole where no strategy has placed it.
StageParameter as_parameter(const StageBuffer& buffer);

// Errors: load_model_state(). The log says how far it is if it takes long, and names tensors with values that are no
// numbers.
void load_from_folder(const Disk& disk, const std::string& directory, const MapperPtr& mapper,
                      const std::vector<StageParameter>& parameters, LoadOptions options);

}  // namespace d9d
