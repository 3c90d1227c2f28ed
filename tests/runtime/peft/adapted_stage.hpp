#pragma once
// A tiny stage with weights and adapters that are not zero.

#include <memory>
#include <set>
#include <string>

#include "runtime/family/qwen3/config.hpp"
#include "runtime/peft/method.hpp"

namespace d9d::test {

// Two sparse layers of width 32, 4 experts.
Qwen3Config tiny_mixture();
std::unique_ptr<StageModule> tiny_stage(const Qwen3Config& config, StagePosition position = {});
// The same with the method and with factors B that are not zero.
// Every parameter that trains has a gradient of zeros.
std::unique_ptr<StageModule> adapted_stage(const PeftConfig& config, StagePosition position = {});
void draw_values(StageModule& stage);

LoraConfig lora(const std::string& pattern, std::int64_t r = 2, double alpha = 3);
PeftConfig stack(std::vector<PeftConfig> methods);

// Names of parameters that train, and of all that an adapter added.
std::set<std::string> trainable(StageModule& stage);
std::set<std::string> of_adapters(StageModule& stage);

TensorMap tiny_inputs();
TensorMap tiny_labels();

}  // namespace d9d::test
