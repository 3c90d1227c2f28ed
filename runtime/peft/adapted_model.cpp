#include "runtime/peft/adapted_model.hpp"

#include <torch/nn/module.h>

#include <algorithm>

#include "runtime/base/error.hpp"
#include "runtime/nn/block/leaf.hpp"

namespace d9d {
namespace {

torch::nn::Module& module_of(StageModule& stage) {
  auto* const module = dynamic_cast<torch::nn::Module*>(&stage);
  D9D_REQUIRE(module != nullptr,
              "this model takes no adapters: its stage is no torch::nn::Module; remove model_provider.peft");
  return *module;
}

bool is_leaf(const torch::nn::Module& module) {
  return dynamic_cast<const Linear*>(&module) != nullptr ||
         dynamic_cast<const GroupedLinear*>(&module) != nullptr;
}

void walk(torch::nn::Module& module, const std::string& path, std::vector<AdaptedModel::NamedModule>& found) {
  found.push_back({path, &module});
  if (is_leaf(module)) return;
  for (const auto& child : module.named_children()) {
    walk(*child.value(), path.empty() ? child.key() : path + "." + child.key(), found);
  }
}

}  // namespace

AdaptedModel::AdaptedModel(StageModule& stage)
    : stage_(stage), root_(module_of(stage)), parameters_(stage.parameters()) {}

std::vector<AdaptedModel::NamedModule> AdaptedModel::modules() const {
  std::vector<NamedModule> found;
  walk(root_, "", found);
  return found;
}

std::vector<AdaptedModel::NamedModule> AdaptedModel::modules(const ModulePattern& pattern) const {
  std::vector<NamedModule> found = modules();
  std::erase_if(found, [&](const NamedModule& module) { return !pattern.matches(module.path); });
  return found;
}

std::vector<StageParameter>::const_iterator AdaptedModel::find(const at::Tensor& tensor) const {
  const auto found =
      std::find_if(parameters_.begin(), parameters_.end(),
                   [&](const StageParameter& parameter) { return parameter.tensor.is_same(tensor); });
  D9D_CHECK(found != parameters_.end(), "a tensor of {} elements is no parameter of the stage",
            tensor.numel());
  return found;
}

const StageParameter& AdaptedModel::parameter(const at::Tensor& tensor) const {
  return *find(tensor);
}

void AdaptedModel::set_trainable(bool trainable) const {
  for (const StageParameter& parameter : parameters_) parameter.tensor.requires_grad_(trainable);
}

void AdaptedModel::let_train(const std::vector<std::string>& names) const {
  for (const StageParameter& parameter : parameters_) {
    if (std::find(names.begin(), names.end(), parameter.name) != names.end())
      parameter.tensor.requires_grad_(true);
  }
}

void AdaptedModel::insert_after(const at::Tensor& tensor, const std::vector<StageParameter>& added) {
  parameters_.insert(find(tensor) + 1, added.begin(), added.end());
}

void AdaptedModel::add_adapter(const StageParameter& weight, std::vector<StageParameter> added) {
  for (StageParameter& parameter : added) {
    parameter.of_adapter = true;
    parameter.role = weight.role;
  }
  insert_after(weight.tensor, added);
}

void AdaptedModel::remove(const at::Tensor& tensor) {
  parameters_.erase(find(tensor));
}

}  // namespace d9d
