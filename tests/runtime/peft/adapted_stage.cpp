#include "tests/runtime/peft/adapted_stage.hpp"

#include <ATen/ops/arange.h>
#include <ATen/ops/zeros_like.h>

#include "runtime/family/qwen3/config.hpp"
#include "runtime/nn/model/build_options.hpp"
#include "runtime/nn/model/initial_weights.hpp"

namespace d9d::test {

Qwen3Config tiny_mixture() {
  Qwen3Config config;
  config.kind = Qwen3Kind::moe;
  config.vocab_size = 40;
  config.hidden_size = 32;
  config.intermediate_size = 48;
  config.num_hidden_layers = 2;
  config.num_attention_heads = 4;
  config.num_key_value_heads = 2;
  config.head_dim = 8;
  config.max_position_embeddings = 64;
  config.initializer_range = 0.1;
  config.moe_intermediate_size = 24;
  config.num_experts = 4;
  config.num_experts_per_tok = 2;
  config.norm_topk_prob = true;
  return config;
}

std::unique_ptr<StageModule> tiny_stage(const Qwen3Config& config, StagePosition position) {
  return config.build_stage(position, {});
}

void draw_values(StageModule& stage) {
  std::vector<StageParameter> parameters = stage.parameters();
  for (StageParameter& parameter : parameters) {
    if (parameter.of_adapter) parameter.initial = {Initial::Kind::normal, 0.3F};
  }
  draw_initial_weights(parameters, 11);
}

std::unique_ptr<StageModule> adapted_stage(const PeftConfig& config, StagePosition position) {
  auto stage = tiny_stage(tiny_mixture(), position);
  inject_peft_and_freeze(*stage, *make_peft_method(config));
  draw_values(*stage);
  for (const StageParameter& parameter : stage->parameters()) {
    at::Tensor tensor = parameter.tensor;
    if (tensor.requires_grad()) tensor.mutable_grad() = at::zeros_like(tensor.detach());
  }
  return stage;
}

LoraConfig lora(const std::string& pattern, std::int64_t r, double alpha) {
  return {.module_name_pattern = pattern, .params = {.r = r, .alpha = alpha}};
}

PeftConfig stack(std::vector<PeftConfig> methods) {
  return StackConfig{PeftMethods{std::move(methods)}};
}

std::set<std::string> trainable(StageModule& stage) {
  std::set<std::string> names;
  for (const StageParameter& parameter : stage.parameters()) {
    if (parameter.tensor.requires_grad()) names.insert(parameter.name);
  }
  return names;
}

std::set<std::string> of_adapters(StageModule& stage) {
  std::set<std::string> names;
  for (const StageParameter& parameter : stage.parameters()) {
    if (parameter.of_adapter) names.insert(parameter.name);
  }
  return names;
}

TensorMap tiny_inputs() {
  return {{"input_ids", at::arange(24, at::kLong).mul(7).remainder(40).view({2, 12})}};
}

TensorMap tiny_labels() {
  return {{"labels", at::arange(24, at::kLong).mul(5).remainder(40).view({2, 12})}};
}

}  // namespace d9d::test
