#include "runtime/train/optimizer/optimizer_provider.hpp"

#include "runtime/train/optimizer/optimizer.hpp"

namespace d9d {
namespace {

class BuiltInOptimizer final : public OptimizerProvider {
 public:
  explicit BuiltInOptimizer(const OptimizerOptions& options) : options_(options) {}
  double learning_rate() const override {
    return std::visit([](const auto& chosen) { return chosen.lr; }, options_);
  }
  std::unique_ptr<Optimizer> make(const FlatParameters& parameters,
                                  const OptimizerContext& context) const override {
    return make_optimizer(options_, parameters, context);
  }
  std::vector<ParameterRule> rules() const override { return rules_of(options_); }
  const OptimizerOptions* built_in() const override { return &options_; }

 private:
  const OptimizerOptions options_;
};

}  // namespace

std::shared_ptr<const OptimizerProvider> provider_of(const OptimizerOptions& options) {
  return std::make_shared<BuiltInOptimizer>(options);
}

}  // namespace d9d
