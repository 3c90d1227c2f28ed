#include "runtime/peft/full_tune.hpp"

namespace d9d {
namespace {

class SetTrainable final : public PeftMethod {
 public:
  SetTrainable(const std::string& pattern, bool trainable) : pattern_(pattern), trainable_(trainable) {}

  std::size_t inject(AdaptedModel& model) const override {
    const auto found = model.modules(pattern_);
    for (const auto& [path, module] : found) {
      for (const at::Tensor& parameter : module->parameters()) parameter.requires_grad_(trainable_);
    }
    return found.size();
  }
  bool begins_trainable() const override { return !trainable_; }

 private:
  const ModulePattern pattern_;
  const bool trainable_;
};

}  // namespace

std::unique_ptr<PeftMethod> make_full_tune(const FullTuneConfig& config) {
  return std::make_unique<SetTrainable>(config.module_name_pattern, true);
}

std::unique_ptr<PeftMethod> make_freeze(const FreezeConfig& config) {
  return std::make_unique<SetTrainable>(config.module_name_pattern, false);
}

}  // namespace d9d
