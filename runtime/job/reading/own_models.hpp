#pragma once
// What a plugin adds to the language of job files before one is read: families of models, and methods of fine-tuning.
// From then on they are as those of d9d: `model_provider: {name: FAMILY, ...}`, `model_provider.peft: {kind: METHOD,
// ...}`, and a config.json with the family's model_type. Short forms: runtime/plugin/own_family.hpp. No torch.

#include <memory>
#include <string>
#include <utility>

#include "runtime/family/family.hpp"
#include "runtime/peft/own_methods.hpp"

namespace d9d {

class ModelRegistry {
 public:
  // `origin`: who adds, for errors: "the plugin libmine.so".
  explicit ModelRegistry(std::string origin) : origin_(std::move(origin)) {}
  // Input error for a name that another family has.
  void add_family(std::unique_ptr<const Family> family);
  // Likewise for methods.
  void add_adapter_method(const std::string& name, MakePeftMethod make);

 private:
  const std::string origin_;
};

// Calls d9d_register_models() of a plugin that has it, once in the life of the process. Nothing for a library that
// cannot be loaded, of which load_plugin() (runtime/plugin) tells. Input error: built against another d9d, a name
// twice.
void load_own_models(const std::string& path);

}  // namespace d9d

// What a plugin with models of its own defines. It is called when the job file is read, before d9d_register().
extern "C" __attribute__((visibility("default"))) void d9d_register_models(d9d::ModelRegistry& registry);
