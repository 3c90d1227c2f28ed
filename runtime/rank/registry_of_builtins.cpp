#include "runtime/rank/registry_of_builtins.hpp"

#include "runtime/base/error.hpp"
#include "runtime/rank/qwen3_provider.hpp"
#include "runtime/task/causal_lm_task.hpp"

namespace d9d {
namespace {

struct NameOf {
  std::string operator()(const Qwen3MoeProvider&) const { return "qwen3_moe"; }
  std::string operator()(const Qwen3Provider&) const { return "qwen3"; }
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

ModelDtype dtype_of(const ModelProviderConfig& provider) {
  if (const auto* moe = std::get_if<Qwen3MoeProvider>(&provider)) return moe->dtype;
  if (const auto* dense = std::get_if<Qwen3Provider>(&provider)) return dense->dtype;
  return ModelDtype::float32;
}

bool enables_checkpointing(const ModelProviderConfig& provider) {
  if (const auto* moe = std::get_if<Qwen3MoeProvider>(&provider)) return moe->enable_checkpointing;
  if (const auto* dense = std::get_if<Qwen3Provider>(&provider)) return dense->enable_checkpointing;
  return false;
}

}  // namespace

Registry registry_of_builtins(const LoadedJob& loaded, Disk& disk) {
  Registry registry;
  const auto qwen3 = [&loaded, &disk](const config::Section&) {
    const ModelProviderConfig& provider = loaded.job.model_provider;
    return make_qwen3_provider(*loaded.model, dtype_of(provider), enables_checkpointing(provider),
                               loaded.split, disk);
  };
  registry.add_model("qwen3_moe", qwen3);
  registry.add_model("qwen3", qwen3);
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
