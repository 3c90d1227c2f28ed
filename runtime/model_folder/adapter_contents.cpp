#include "runtime/model_folder/adapter_contents.hpp"

#include <algorithm>

#include "runtime/base/error.hpp"
#include "runtime/family/folder/folder_names.hpp"
#include "runtime/peft/lora.hpp"
#include "runtime/tensor/routed_stage.hpp"
#include "runtime/tensor/stage_module.hpp"

namespace d9d {
namespace {

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
  std::vector<std::string> paths;
  for (const StageParameter& weight : weights_without_adapter(stage)) {
    const std::vector<std::string> joined = joined_paths(to_hugging_face, weight.name);
    paths.insert(paths.end(), joined.begin(), joined.end());
    if (!joined.empty() || !has_modules(to_hugging_face, weight)) continue;
    for (const AdaptedModule& module : modules_of(to_hugging_face, weight)) paths.push_back(module.path);
  }
  return paths;
}

// What the folder calls the embedding.
std::string embedding_in(const StateMapper& to_folder) {
  for (const StateGroup& group : to_folder.groups()) {
    if (group.inputs.contains(embedding_table)) return *group.outputs.begin();
  }
  return embedding_table;
}

// An encoder's model of words has no kind of its own in PEFT, and takes what any model takes.
const char* task_type_of(const FamilyModel& model) {
  if (model.heads.empty()) return model.head_transform.wanted ? "FEATURE_EXTRACTION" : "CAUSAL_LM";
  const bool classifies = std::holds_alternative<ClassificationHead>(model.heads.begin()->second);
  return classifies ? "SEQ_CLS" : "FEATURE_EXTRACTION";
}

}  // namespace

std::vector<NamedAdapter> named_adapters(const FamilyModel& model, const std::vector<LoraAdapter>& adapters) {
  const auto mapper = model.parameters_to_folder();
  std::vector<NamedAdapter> named;
  for (const LoraAdapter& adapter : adapters) named.push_back({adapter, modules_of(*mapper, adapter.weight)});
  return named;
}

AdapterContents adapter_contents(const FamilyModel& model, StageModule& adapted,
                                 const std::vector<NamedAdapter>& adapters, const std::string& base) {
  D9D_REQUIRE(!adapters.empty(), "there is no adapter to export: model_provider.peft has no `lora`");
  const auto* const routed = dynamic_cast<const RoutedStage*>(&adapted);
  D9D_REQUIRE(
      routed == nullptr || !routed->balances_load(),
      "training moves the biases by which routers choose experts, which PEFT's format cannot hold; let them "
      "stay (router_bias_update_rate: 0), or give export_to instead of export_adapter_to");
  const auto mapper = model.parameters_to_folder();
  std::vector<AdaptedModule> modules;
  for (const NamedAdapter& named : adapters)
    modules.insert(modules.end(), named.modules.begin(), named.modules.end());
  AdapterContents contents{saved_tensors(*mapper, adapted.parameters(), modules), ""};
  const auto is_embedding = [name = embedding_in(*mapper)](const SavedTensor& tensor) {
    return tensor.name == name;
  };
  D9D_REQUIRE(
      !model.ties_head() || std::ranges::none_of(contents.saved, is_embedding),
      "{} trains too, and it is the head's matrix as well, which PEFT's format would hold apart; leave it "
      "frozen, or give export_to instead of export_adapter_to",
      embedding_table);
  contents.config_json = adapter_config_json(
      adapters, others(adapted, *mapper), base,
      {task_type_of(model), saved_module_names(contents.saved), model.peft_takes_projections()});
  return contents;
}

}  // namespace d9d
