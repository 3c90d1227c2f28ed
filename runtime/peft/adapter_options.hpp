#pragma once
// The keys of adapter_config.json that this project computes, and those that do not change the result of a
// saved adapter. All others are refused by name. The keys are those of LoraConfig of peft 0.21.

#include <nlohmann/json.hpp>
#include <string>

namespace d9d {

// Input error, with the key, unless this project computes the LoRA that the file at `path` describes: r,
// lora_alpha and their patterns, use_rslora, use_dora, modules_to_save. An unknown key is refused if it has
// a value (neither null, false nor empty).
void require_computed_options(const nlohmann::ordered_json& config, const std::string& path);

// Whether the key has a value: neither null, false nor empty.
bool says_something(const nlohmann::ordered_json& config, const char* key);

// Returns the value that peft uses for a module: of the first key of `patterns` that matches the end of its
// path (of its weight's, where target_parameters names that) as a regular expression, else of the key `common`.
nlohmann::ordered_json option_of_module(const nlohmann::ordered_json& config, const char* patterns,
                                        const char* common, const std::string& module);

}  // namespace d9d
