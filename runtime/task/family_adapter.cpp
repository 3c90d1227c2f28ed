#include "runtime/task/family_adapter.hpp"

#include <ATen/ops/empty.h>

#include <map>

#include "runtime/base/error.hpp"
#include "runtime/peft/each_linear.hpp"
#include "runtime/state/checkpoint_reader.hpp"
#include "runtime/state/model_files.hpp"
#include "runtime/state/model_reader.hpp"

namespace d9d {
namespace {

constexpr const char* parameter_kind = "param";

// Of parameters that are one tensor with others in the folder.
std::vector<std::string> joined_paths(const StateMapper& to_folder, const std::string& parameter) {
  std::vector<std::string> paths;
  for (const StateGroup& group : to_folder.groups()) {
    if (group.inputs.size() == 1 || !group.inputs.contains(parameter)) continue;
    for (const std::string& name : group.outputs) paths.push_back(name.substr(0, name.rfind('.')));
  }
  return paths;
}

// Paths, as in a Hugging Face folder, of the linears that have no adapter.
std::vector<std::string> others(StageModule& stage, const StateMapper& to_hugging_face) {
  const AdaptedModel model(stage);
  std::vector<std::string> paths;
  each_linear(model.modules(), [&](const auto& leaf) {
    if (leaf.branch) return;
    const std::vector<std::string> joined = joined_paths(to_hugging_face, model.parameter(leaf.weight).name);
    paths.insert(paths.end(), joined.begin(), joined.end());
    if (!joined.empty()) return;
    for (const AdaptedModule& module : modules_of(to_hugging_face, model.parameter(leaf.weight)))
      paths.push_back(module.path);
  });
  return paths;
}

}  // namespace

FamilyAdapter::FamilyAdapter(std::shared_ptr<const FamilyModel> model, const PeftConfig& config,
                             std::string source, const Disk& disk)
    : model_(std::move(model)), method_(make_peft_method(config)), source_(std::move(source)), disk_(disk) {}

std::unique_ptr<StageModule> FamilyAdapter::whole_model() const {
  const auto dtype = dtype_named(model_->dtype);
  D9D_CHECK(dtype, "no element type is called {}", model_->dtype);
  auto stage = model_->build_shapes(*dtype);
  adapt(*stage);
  return stage;
}

std::vector<NamedAdapter> FamilyAdapter::adapters() const {
  const auto mapper = model_->parameters_to_folder();
  std::vector<NamedAdapter> named;
  for (LoraAdapter& adapter : lora_adapters(*whole_model())) {
    std::vector<AdaptedModule> modules = modules_of(*mapper, adapter.weight);
    named.push_back({std::move(adapter), std::move(modules)});
  }
  return named;
}

void FamilyAdapter::load(const std::vector<StageParameter>& parameters) const {
  begin_magnitudes(lora_adapters(*whole_model()), parameters);
  load_adapters(disk_, adapters(), parameters);
}

void FamilyAdapter::check() const {
  check_adapters(disk_, adapters());
}

at::Tensor FamilyAdapter::base_weight(const CheckpointReader& checkpoint,
                                      const StageParameter& parameter) const {
  if (checkpoint.has(parameter_kind, parameter.name) || source_.empty())
    return checkpoint.read(parameter_kind, parameter.name);
  const auto options = parameter.tensor.options().device(at::kCPU).requires_grad(false);
  const at::Tensor values = at::empty(parameter.layout.global_shape(), options);
  LoadOptions part;
  part.allow_unread = {"*"};
  part.part_of_model = true;
  const MapperPtr mapper = model_->folder_to_parameters(ModelFiles(disk_, source_).names());
  load_model_state(disk_, source_, mapper, std::map<std::string, at::Tensor>{{parameter.name, values}}, part);
  return values;
}

std::function<at::Tensor(const std::string& name)> FamilyAdapter::merged(
    const CheckpointReader& checkpoint) const {
  const auto stage = whole_model();
  std::map<std::string, StageParameter> parameters;
  for (const StageParameter& parameter : stage->parameters()) parameters[parameter.name] = parameter;
  std::map<std::string, LoraAdapter> adapters;
  for (const LoraAdapter& adapter : lora_adapters(*stage)) adapters[adapter.weight.name] = adapter;
  return [this, &checkpoint, parameters = std::move(parameters),
          adapters = std::move(adapters)](const std::string& name) {
    const at::Tensor weight = base_weight(checkpoint, parameters.at(name));
    const auto adapter = adapters.find(name);
    if (adapter == adapters.end()) return weight;
    const auto& [config, path, own, a, b, magnitudes] = adapter->second;
    const auto read = [&](const StageParameter& factor) {
      return checkpoint.read(parameter_kind, factor.name);
    };
    return merged_weight(weight, read(a), read(b), scale_of(config.params),
                         magnitudes ? read(*magnitudes) : at::Tensor());
  };
}

void FamilyAdapter::export_adapter(Disk& disk, const CheckpointReader& checkpoint,
                                   const std::string& target) const {
  const auto stage = whole_model();
  const std::vector<NamedAdapter> all = adapters();
  D9D_REQUIRE(!all.empty(), "there is no adapter to export: model_provider.peft has no `lora`");
  for (const StageParameter& parameter : stage->parameters()) {
    D9D_REQUIRE(parameter.of_adapter || !parameter.tensor.requires_grad(),
                "{} trains too, and an adapter's folder cannot hold it: give export_to instead of "
                "export_adapter_to",
                parameter.name);
  }
  const std::string config =
      adapter_config_json(all, others(*stage, *model_->parameters_to_folder()), source_);
  write_adapters(disk, target, all, config,
                 [&](const std::string& name) { return checkpoint.read(parameter_kind, name); });
}

}  // namespace d9d
