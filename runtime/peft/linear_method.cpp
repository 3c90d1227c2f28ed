#include "runtime/peft/linear_method.hpp"

#include <set>

#include "runtime/base/error.hpp"
#include "runtime/peft/each_linear.hpp"
#include "runtime/peft/lora.hpp"
#include "runtime/peft/own_adapters.hpp"

namespace d9d {
namespace {

std::string scope_of(const StageParameter& weight) {
  return weight.name.substr(0, weight.name.rfind('.') + 1);
}

std::shared_ptr<const OwnBranch> own_branch_of(const Linear& linear) {
  return std::dynamic_pointer_cast<const OwnBranch>(linear.branch);
}

OwnAdapter adapter_at(const AdaptedModel& model, const Linear& linear) {
  OwnAdapter adapter{own_branch_of(linear), model.parameter(linear.weight), {}};
  for (const StageParameter& parameter : model.parameters()) {
    if (parameter.of_adapter && parameter.name.starts_with(scope_of(adapter.weight)))
      adapter.added.push_back(parameter);
  }
  return adapter;
}

bool attach(AdaptedModel& model, Linear& linear, const LinearMethod& method) {
  if (linear.branch) return false;
  const StageParameter weight = model.parameter(linear.weight);
  ParameterMaker make(weight.tensor.scalar_type(), weight.tensor.device(), /*stddev=*/0.02F);
  std::string path = scope_of(weight);
  path.pop_back();
  linear.branch = make.within(path, [&] { return method.make_branch(make, linear); });
  D9D_REQUIRE(linear.branch != nullptr, "make_branch() of an adapter method made none for {}", path);
  model.add_adapter(weight, make.parameters());
  return true;
}

TensorMap values_of(const OwnAdapter& adapter) {
  TensorMap values;
  for (const StageParameter& parameter : adapter.added)
    values[adapter.name_of(parameter)] = parameter.tensor.detach();
  return values;
}

}  // namespace

at::Tensor OwnBranch::merged(const at::Tensor& /*weight*/, const TensorMap& /*added*/) const {
  throw Error(
      ErrorKind::input,
      "its adapter method has no merged form: its branch does not implement merged(); leave export_to out, "
      "checkpoints keep the adapters");
}

std::size_t LinearMethod::inject(AdaptedModel& model) const {
  std::size_t attached = 0;
  for (const auto& [path, module] : model.modules(ModulePattern(pattern()))) {
    D9D_REQUIRE(
        dynamic_cast<GroupedLinear*>(module) == nullptr,
        "{} is of experts, which this adapter method cannot change; write a pattern that does not match "
        "experts",
        path);
    if (auto* const linear = dynamic_cast<Linear*>(module)) attached += attach(model, *linear, *this) ? 1 : 0;
  }
  return attached;
}

void LinearMethod::merge(AdaptedModel& model) const {
  for (const auto& [path, module] : model.modules(ModulePattern(pattern()))) {
    auto* const linear = dynamic_cast<Linear*>(module);
    if (linear == nullptr || !own_branch_of(*linear)) continue;
    const OwnAdapter adapter = adapter_at(model, *linear);
    linear->weight.detach().copy_(adapter.merged(linear->weight.detach(), values_of(adapter)));
    for (const StageParameter& parameter : adapter.added) model.remove(parameter.tensor);
    for (const auto& child : linear->named_children()) linear->unregister_module(child.key());
    linear->branch = nullptr;
  }
}

std::string OwnAdapter::name_of(const StageParameter& parameter) const {
  return parameter.name.substr(scope_of(weight).size());
}

at::Tensor OwnAdapter::merged(const at::Tensor& values_of_weight, const TensorMap& values) const {
  return branch->merged(values_of_weight, values);
}

std::vector<OwnAdapter> own_adapters(StageModule& stage) {
  const AdaptedModel model(stage);
  std::vector<OwnAdapter> adapters;
  for (const auto& [path, module] : model.modules()) {
    const auto* const linear = dynamic_cast<const Linear*>(module);
    if (linear != nullptr && own_branch_of(*linear)) adapters.push_back(adapter_at(model, *linear));
  }
  return adapters;
}

void require_merged_form(StageModule& stage) {
  std::set<std::string> merging;
  for (const LoraAdapter& adapter : lora_adapters(stage)) {
    merging.insert({adapter.a.name, adapter.b.name});
    if (adapter.magnitudes) merging.insert(adapter.magnitudes->name);
  }
  for (const OwnAdapter& adapter : own_adapters(stage)) {
    try {
      const at::Tensor merged = adapter.merged(adapter.weight.tensor.detach(), values_of(adapter));
      D9D_REQUIRE(
          merged.defined() && merged.sizes() == adapter.weight.tensor.sizes(),
          "merged() of its adapter method gives another shape than the weight's; return a tensor like it");
    } catch (const Error& error) {
      throw Error(error.kind(), fmt::format("{}: {}", adapter.weight.name, error.what()));
    } catch (...) {
      throw Error(ErrorKind::input, fmt::format("{}: merged() of its adapter method threw: {}",
                                                adapter.weight.name, describe_current_exception().what));
    }
    for (const StageParameter& parameter : adapter.added) merging.insert(parameter.name);
  }
  for (const StageParameter& parameter : stage.parameters()) {
    D9D_REQUIRE(!parameter.of_adapter || merging.contains(parameter.name),
                "the adapter method of {} has no merged form: the parameter is of no linear's branch; leave "
                "export_to out, checkpoints keep the adapters",
                parameter.name);
  }
}

}  // namespace d9d
