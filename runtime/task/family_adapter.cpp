#include "runtime/task/family_adapter.hpp"

#include "runtime/base/error.hpp"
#include "runtime/peft/each_linear.hpp"
#include "runtime/state/checkpoint_reader.hpp"
#include "runtime/task/merged_weights.hpp"

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

const FamilyAdapter::Whole& FamilyAdapter::whole_model() const {
  std::call_once(once_, [&] {
    const auto dtype = dtype_named(model_->dtype);
    D9D_CHECK(dtype, "no element type is called {}", model_->dtype);
    whole_ = {};
    whole_.stage = model_->build_shapes(*dtype);
    adapt(*whole_.stage);
    whole_.lora = lora_adapters(*whole_.stage);
    const auto mapper = model_->parameters_to_folder();
    for (const LoraAdapter& adapter : whole_.lora)
      whole_.named.push_back({adapter, modules_of(*mapper, adapter.weight)});
  });
  return whole_;
}

void FamilyAdapter::load(const std::vector<StageParameter>& parameters) const {
  begin_magnitudes(whole_model().lora, parameters);
  load_adapters(disk_, whole_model().named, parameters);
}

void FamilyAdapter::check() const {
  check_adapters(disk_, whole_model().named);
}

std::unique_ptr<TensorSource> FamilyAdapter::merged(const CheckpointReader& checkpoint) const {
  return std::make_unique<MergedWeights>(*model_, *whole_model().stage, disk_, source_, checkpoint);
}

void FamilyAdapter::export_adapter(Disk& disk, const CheckpointReader& checkpoint,
                                   const std::string& target) const {
  StageModule& stage = *whole_model().stage;
  const std::vector<NamedAdapter>& all = whole_model().named;
  D9D_REQUIRE(!all.empty(), "there is no adapter to export: model_provider.peft has no `lora`");
  for (const StageParameter& parameter : stage.parameters()) {
    D9D_REQUIRE(parameter.of_adapter || !parameter.tensor.requires_grad(),
                "{} trains too, and an adapter's folder cannot hold it: give export_to instead of "
                "export_adapter_to",
                parameter.name);
  }
  const std::string config =
      adapter_config_json(all, others(stage, *model_->parameters_to_folder()), source_);
  write_adapters(disk, target, all, config,
                 [&](const std::string& name) { return checkpoint.read(parameter_kind, name); });
}

}  // namespace d9d
