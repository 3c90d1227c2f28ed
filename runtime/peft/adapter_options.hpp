#pragma once
// Keys of adapter_config.json: which are computed, which have no effect on what a saved adapter computes. All
// others are refused by name. The keys are those of LoraConfig of peft 0.21.

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

namespace d9d {

// Input error, with the key, unless what the file at `path` says of a LoRA is computed by this project: r,
// lora_alpha and their patterns, use_rslora, use_dora, modules_to_save. A key that is not known is refused
// where it says something (neither null, false nor empty).
void require_computed_options(const nlohmann::ordered_json& config, const std::string& path);

// Whether the key says something.
bool says_something(const nlohmann::ordered_json& config, const char* key);

// What peft takes for a module: the value of the first key of `patterns` that is the end of its path, as a
// regular expression, else that of `common`.
nlohmann::ordered_json option_of_module(const nlohmann::ordered_json& config, const char* patterns,
                                        const char* common, const std::string& module);

}  // namespace d9d
