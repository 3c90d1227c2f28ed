#include "runtime/task/builtins.hpp"

#include "runtime/base/error.hpp"
#include "runtime/family/families.hpp"
#include "runtime/task/causal_lm_task.hpp"
#include "runtime/task/family_provider.hpp"

namespace d9d {
namespace {

struct NameOf {
  std::string operator()(const FamilyProvider& provider) const {
    return std::string(provider.family->name());
  }
  std::string operator()(const CausalLmConfig&) const { return "causal_lm"; }
  std::string operator()(const config::Named& named) const { return named.name; }
};

struct OptionsOf {
  config::Section operator()(const config::Named& named) const { return named.options; }
  template <class BuiltIn>
  config::Section operator()(const BuiltIn&) const {
    return {};
  }
};

}  // namespace

Registry builtin_registry(const LoadedJob& loaded, Disk& disk) {
  Registry registry;
  for (const Family* family : families()) {
    registry.add_model(std::string(family->name()), [&loaded, &disk](const config::Section&) {
      const auto& provider = std::get<FamilyProvider>(loaded.job.model_provider);
      return make_family_provider(loaded.model, provider.dtype, provider.enable_checkpointing, loaded.split,
                                  disk);
    });
  }
  registry.add_task("causal_lm", [](const config::Section&) { return std::make_shared<CausalLmTask>(); });
  return registry;
}

std::shared_ptr<const ModelProvider> make_model(const Registry& registry, const JobConfig& job) {
  return registry.make_model(std::visit(NameOf{}, job.model_provider),
                             std::visit(OptionsOf{}, job.model_provider));
}

std::shared_ptr<TrainTask> make_task(const Registry& registry, const JobConfig& job) {
  return registry.make_task(std::visit(NameOf{}, job.task), std::visit(OptionsOf{}, job.task));
}

}  // namespace d9d
