#pragma once
// Keys of the config.json that a model came from which this project does not write itself: they go through an export
// as they are. No torch.

#include <nlohmann/json.hpp>
#include <string>

#include "runtime/family/provider_choice.hpp"
#include "runtime/state/disk/disk.hpp"

namespace d9d {

// Those of `folder`/config.json, with the values of the job's section `model` where that names them. Left out is what
// is false of an exported model: quantization_config (its weights are not quantised), auto_map (the code that it names
// stays behind), _name_or_path (where the weights were), and the other spellings of RoPE, which the family
// writes. Empty without such a file, or where it is of another model_type.
nlohmann::json carried_keys(const Disk& disk, const FamilyProvider& provider, const std::string& folder);

// Adds them to the config.json of an export: where it has a key, the export's own value stays. `labels`: of the
// classification head; 0: there is none. The labels' names are carried where there are as many.
void add_carried_keys(const nlohmann::json& carried, std::int64_t labels, nlohmann::json& config);

}  // namespace d9d
