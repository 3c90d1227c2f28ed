#pragma once
// Which modules an adapter names, and has no factors of. peft gives them factors that add nothing, and warns.

#include <nlohmann/json.hpp>
#include <string>

#include "runtime/peft/merged_folder.hpp"

namespace d9d {

// Returns a sentence that names the modules of a folder with the tensors `base` which target_modules and the other
// choices in the adapter_config.json `config` cover, and whose weights are not among `changed`; empty where there are
// none, and where target_modules is "all-linear" or layers_pattern is given. `where`: the adapter's folder.
std::string modules_without_factors(const nlohmann::ordered_json& config, const Names& base,
                                    const Names& changed, const std::string& where);

// Logs that sentence about an adapter's folder as a warning.
void say_modules_without_factors(const Disk& disk, const std::string& directory, const ModelFiles& base,
                                 const MergedFolder& merged);

}  // namespace d9d
