#pragma once
// A plugin's families of models and its methods of fine-tuning, by their types. They are registered before the job file
// is read, in a function of their own:
//
//   extern "C" void d9d_register_models(d9d::ModelRegistry& registry) {
//     d9d::add_family<Mine>(registry, "mine", "What it is, for the reference of all keys.");
//     d9d::add_adapter_method<Ia3>(registry, "ia3");
//   }

#include <memory>
#include <string>

#include "runtime/family/own/own_decoder.hpp"
#include "runtime/job/reading/own_models.hpp"
#include "runtime/peft/linear_method.hpp"
#include "runtime/plugin/own_piece.hpp"

namespace d9d {

// `model_provider: {name: NAME, ...}`, and the model_type of its folders: a struct that derives from OwnDecoder
// (own_decoder.hpp) or from FamilyModel. `name` and `meaning` are literals.
template <class Model>
void add_family(ModelRegistry& registry, std::string_view name, std::string_view meaning) {
  registry.add_family(std::make_unique<FamilyOf<Model>>(name, meaning));
}

// `model_provider.peft: {kind: NAME, ...}`: a PeftMethod; its described members are the keys, and its prepare() is
// called when they are read. It adapts the models of all families.
template <class Method>
void add_adapter_method(ModelRegistry& registry, const std::string& name) {
  registry.add_adapter_method(name, [](const config::Section& section) {
    auto method = std::make_unique<Method>();
    own::read_keys(*method, section);
    if constexpr (requires { method->prepare(); }) method->prepare();
    return method;
  });
}

}  // namespace d9d
