#include "runtime/peft/saved_modules.hpp"

#include <ATen/ops/empty.h>

#include <algorithm>
#include <set>

#include "runtime/base/error.hpp"

namespace d9d {
namespace {

constexpr std::string_view file_prefix = "base_model.model.";
constexpr std::string_view base_layer = ".base_layer.";
constexpr const char* saved_remedy = "leave it frozen, or give export_to instead of export_adapter_to";

std::string module_of(const std::string& tensor) {
  return tensor.substr(0, tensor.rfind('.'));
}

bool is_module_tensor(const std::string& name) {
  return name.ends_with(".weight") || name.ends_with(".bias");
}

void take_out(std::string& name, const std::string& part) {
  if (const auto at = name.find(part); at != std::string::npos) name.erase(at, part.size() - 1);
}

std::string plain_name(const StateMapper& mapper, const StageParameter& parameter) {
  for (const StateGroup& group : mapper.groups()) {
    if (!group.inputs.contains(parameter.name)) continue;
    if (group.inputs.size() != 1 || group.outputs.size() != 1) return "";
    const std::vector<std::int64_t>& shape = parameter.layout.global_shape();
    const auto made = mapper.apply({{parameter.name, at::empty(shape, at::kMeta)}});
    const std::string& name = *group.outputs.begin();
    return made.at(name).sizes() == at::IntArrayRef(shape) ? name : "";
  }
  return "";
}

// Refuses modules whose name is also the end of another module's path: peft compares ends of paths, so
// it would save that module, too.
void require_whole_modules(const StateMapper& mapper, const std::vector<SavedTensor>& tensors) {
  std::set<std::string> saved, modules;
  for (const SavedTensor& tensor : tensors) saved.insert(tensor.name);
  for (const std::string& module : saved_module_names(tensors)) modules.insert(module);
  for (const std::string& name : outputs_of(mapper)) {
    if (saved.contains(name)) continue;
    const std::string whole = module_of(name);
    for (const std::string& module : modules)
      D9D_REQUIRE(!whole.ends_with(module),
                  "{} trains, but not {}, and PEFT's format holds both or neither; {}", module, name,
                  saved_remedy);
  }
}

}  // namespace

std::map<std::string, StageParameter> plain_parameters(const StateMapper& to_hugging_face,
                                                       const std::vector<StageParameter>& parameters) {
  std::map<std::string, StageParameter> plain;
  for (const StageParameter& parameter : parameters) {
    if (parameter.of_adapter) continue;
    const std::string name = plain_name(to_hugging_face, parameter);
    if (!name.empty()) plain.emplace(name, parameter);
  }
  return plain;
}

std::vector<SavedTensor> saved_tensors(const StateMapper& to_hugging_face,
                                       const std::vector<StageParameter>& parameters,
                                       const std::vector<AdaptedModule>& adapted) {
  std::vector<SavedTensor> tensors;
  for (const StageParameter& parameter : parameters) {
    if (parameter.of_adapter || !parameter.tensor.requires_grad()) continue;
    const std::string name = plain_name(to_hugging_face, parameter);
    D9D_REQUIRE(is_module_tensor(name),
                "{} trains too, and is no tensor of a module that PEFT's format could hold; {}",
                parameter.name, saved_remedy);
    const auto is_it = [&](const AdaptedModule& module) { return module.path == module_of(name); };
    D9D_REQUIRE(std::none_of(adapted.begin(), adapted.end(), is_it),
                "{} trains too, but has an adapter, and PEFT's format holds one of them; {}", parameter.name,
                saved_remedy);
    tensors.push_back({name, parameter});
  }
  require_whole_modules(to_hugging_face, tensors);
  return tensors;
}

std::vector<std::string> saved_module_names(const std::vector<SavedTensor>& tensors) {
  std::vector<std::string> modules;
  for (const SavedTensor& tensor : tensors) {
    const std::string module = module_of(tensor.name);
    if (std::find(modules.begin(), modules.end(), module) == modules.end()) modules.push_back(module);
  }
  return modules;
}

std::string saved_tensor_name(const std::string& name) {
  return std::string(file_prefix) + name;
}

std::string base_layer_name(const std::string& module) {
  return saved_tensor_name(module) + std::string(base_layer) + "weight";
}

bool is_base_layer(const std::string& in_file) {
  return in_file.find(base_layer) != std::string::npos;
}

std::string name_of_saved_tensor(const std::string& in_file) {
  if (!in_file.starts_with(file_prefix) || in_file.find(".lora_") != std::string::npos) return "";
  std::string name = in_file.substr(file_prefix.size());
  take_out(name, std::string(base_layer));
  take_out(name, ".modules_to_save.");
  return name;
}

}  // namespace d9d
