#include "runtime/model_folder/beside_adapters.hpp"

#include <algorithm>

#include "runtime/base/error.hpp"
#include "runtime/family/folder/folder_names.hpp"
#include "runtime/peft/adapter_files.hpp"
#include "runtime/peft/module_pattern.hpp"
#include "runtime/state/model/model_files.hpp"
#include "runtime/tensor/stage_module.hpp"

namespace d9d {
namespace {

// What is wrong with a folder is told by its own check.
template <class Read>
auto unless_broken(const Read& read) -> decltype(read()) {
  try {
    return read();
  } catch (const Error&) {
    return {};
  }
}

void add_whole_of(const Disk& disk, const std::string& directory, const StateMapper& to_folder,
                  std::vector<std::string>& names) {
  const auto stored = unless_broken([&] { return whole_tensors_in(disk, directory); });
  for (const StateGroup& group : to_folder.groups()) {
    const auto is_stored = [&](const std::string& name) {
      return std::find(stored.begin(), stored.end(), name) != stored.end();
    };
    if (std::any_of(group.outputs.begin(), group.outputs.end(), is_stored))
      names.insert(names.end(), group.inputs.begin(), group.inputs.end());
  }
}

struct PatternOf {
  std::string operator()(const StackConfig&) const { return ""; }    // methods_of() has none
  std::string operator()(const OwnPeftConfig&) const { return ""; }  // its keys are the plugin's
  template <class Method>
  std::string operator()(const Method& method) const {
    return method.module_name_pattern;
  }
};

std::string pattern_of(const PeftConfig& method) {
  return std::visit(PatternOf{}, method);
}

}  // namespace

std::vector<std::string> drawn_parameters(const Disk& disk, const FamilyModel& model,
                                          const std::string& source) {
  if (model.own_head_parameters().empty() && model.prediction_depths == 0) return {};
  const auto stored = source.empty()
                          ? std::optional(Names())
                          : unless_broken([&] { return std::optional(ModelFiles(disk, source).names()); });
  std::vector<std::string> drawn;
  if (!stored) return drawn;
  for (const StageParameter& parameter : model.build_shapes()->parameters()) {
    if (model.starts_anew(*stored, parameter.name)) drawn.push_back(parameter.name);
  }
  return drawn;
}

std::vector<std::string> trained_beside_adapters(const Disk& disk, const FamilyModel& model,
                                                 const PeftConfig& config, const std::string& source) {
  std::vector<std::string> names = drawn_parameters(disk, model, source);
  for (const MethodAt& method : methods_of(config)) {
    const auto* const lora = std::get_if<LoraConfig>(method.config);
    if (lora == nullptr || !lora->from) continue;
    std::vector<std::string> whole;
    add_whole_of(disk, *lora->from, *model.parameters_to_folder(), whole);
    D9D_REQUIRE(!model.ties_head() || std::ranges::find(whole, embedding_table) == whole.end(),
                "{} holds the embedding, which is the head's matrix as well (tie_word_embeddings), and peft "
                "trains it apart from the head; begin from a copy of the model's folder that holds both "
                "(lm_head.weight with the embedding's values, tie_word_embeddings: false)",
                *lora->from);
    names.insert(names.end(), whole.begin(), whole.end());
  }
  return names;
}

std::vector<std::string> modules_not_had(const FamilyModel& model, const PeftConfig& config) {
  std::vector<std::string> sentences;
  for (const auto& [path, method] : methods_of(config)) {
    const bool adapts = std::holds_alternative<LoraConfig>(*method);
    const ModulePattern pattern(pattern_of(*method));
    const auto say = [&](const char* module, const char* why) {
      if (pattern.matches(module))
        sentences.push_back(fmt::format("model_provider.peft{}.module_name_pattern matches {} as well, {}",
                                        path, module, why));
    };
    if (model.ties_head())
      say("lm_head", "but the head is the embedding's matrix (tie_word_embeddings): no module of its own");
    if (adapts) say("model.embed_tokens", "but only linear layers have adapters: the embedding gets none");
  }
  return sentences;
}

std::vector<SavedTensor> tensors_named(const FamilyModel& model,
                                       const std::vector<StageParameter>& parameters,
                                       const std::vector<std::string>& names) {
  std::vector<SavedTensor> tensors;
  if (names.empty()) return tensors;
  for (const auto& [name, parameter] : plain_parameters(*model.parameters_to_folder(), parameters)) {
    if (std::find(names.begin(), names.end(), parameter.name) != names.end())
      tensors.push_back({name, parameter});
  }
  return tensors;
}

}  // namespace d9d
