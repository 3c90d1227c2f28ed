#include "runtime/peft/method.hpp"

#include "runtime/peft/lora.hpp"
#include "runtime/peft/own_methods.hpp"

namespace d9d {
namespace {

// Full tuning and freezing: the parameters of all modules that match train, or do not train.
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

class StackMethod final : public PeftMethod {
 public:
  explicit StackMethod(const StackConfig& config) {
    for (const PeftConfig& method : config.methods.all) methods_.push_back(make_peft_method(method));
  }

  std::size_t inject(AdaptedModel& model) const override {
    std::size_t changed = 0;
    for (const auto& method : methods_) changed += method->inject(model);
    return changed;
  }
  void merge(AdaptedModel& model) const override {
    for (auto method = methods_.rbegin(); method != methods_.rend(); ++method) (*method)->merge(model);
  }
  bool begins_trainable() const override { return !methods_.empty() && methods_.front()->begins_trainable(); }

 private:
  std::vector<std::unique_ptr<PeftMethod>> methods_;
};

struct MakeMethod {
  std::unique_ptr<PeftMethod> operator()(const LoraConfig& config) const { return make_lora(config); }
  std::unique_ptr<PeftMethod> operator()(const FullTuneConfig& config) const {
    return std::make_unique<SetTrainable>(config.module_name_pattern, true);
  }
  std::unique_ptr<PeftMethod> operator()(const FreezeConfig& config) const {
    return std::make_unique<SetTrainable>(config.module_name_pattern, false);
  }
  std::unique_ptr<PeftMethod> operator()(const StackConfig& config) const {
    return std::make_unique<StackMethod>(config);
  }
  std::unique_ptr<PeftMethod> operator()(const OwnPeftConfig& config) const {
    return make_own_peft_method(config.name, config.options);
  }
};

}  // namespace

std::unique_ptr<PeftMethod> make_peft_method(const PeftConfig& config) {
  return std::visit(MakeMethod{}, config);
}

void inject_peft_and_freeze(StageModule& stage, const PeftMethod& method,
                            const std::vector<std::string>& beside) {
  AdaptedModel model(stage);
  model.set_trainable(method.begins_trainable());
  model.let_train(beside);
  method.inject(model);
  model.finish();
}

void merge_peft(StageModule& stage, const PeftMethod& method) {
  AdaptedModel model(stage);
  method.merge(model);
  model.finish();
}

}  // namespace d9d
