#pragma once
// Which parameters of a model train whole beside its adapters though no method of the job names them: those that are
// new, because a frozen one from the seed would make numbers of noise.

#include <string>
#include <vector>

#include "runtime/family/family_model.hpp"
#include "runtime/peft/peft_config.hpp"
#include "runtime/peft/saved_modules.hpp"
#include "runtime/state/disk/disk.hpp"

namespace d9d {

// The parameters of heads and of modules of multi-token prediction that the folder `source` lacks; empty: there is
// no folder. Nothing where the folder cannot be read, which the check of the folder tells.
std::vector<std::string> drawn_parameters(const Disk& disk, const FamilyModel& model,
                                          const std::string& source);

// These, and what the folders that adapters start from hold whole (peft's modules_to_save).
std::vector<std::string> trained_beside_adapters(const Disk& disk, const FamilyModel& model,
                                                 const PeftConfig& config, const std::string& source);

// A sentence for each pattern that names a module which its method cannot have: a head that is the embedding's matrix,
// and for `lora` the embedding.
std::vector<std::string> modules_not_had(const FamilyModel& model, const PeftConfig& config);

// Of the whole adapted model, with the names of a folder: the parameters that are called so.
std::vector<SavedTensor> tensors_named(const FamilyModel& model,
                                       const std::vector<StageParameter>& parameters,
                                       const std::vector<std::string>& names);

}  // namespace d9d
