// Lion (Chen and others 2023, algorithm 2): each weight moves by the learning rate in the direction of the sign of
// its momentum, so that one buffer is enough.
//   u = sign(beta1 m + (1 - beta1) g);  w -= lr (u + decay w);  m = beta2 m + (1 - beta2) g
// FlatOptimizer brings what the job file and checkpoints need: rules for single parameters, float32 masters of
// bfloat16 weights, state that any mesh reads. An update works on each element alone, so it works on every shard.
#include <boost/describe/class.hpp>

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>

#include "mine.hpp"
#include "runtime/base/config/decode.hpp"
#include "runtime/base/config/keys.hpp"
#include "runtime/task/optimizer_keys.hpp"
#include "runtime/task/registry.hpp"
#include "runtime/train/flat_optimizer.hpp"

namespace mine {

struct LionConfig {
  double lr = 0;
  std::array<double, 2> betas = {0.9, 0.99};
  double weight_decay = 0;
  std::vector<d9d::ParameterRule> rules;
};
BOOST_DESCRIBE_STRUCT(LionConfig, (), (lr, betas, weight_decay, rules))
constexpr auto keys_of(d9d::config::Tag<LionConfig>) {
  using namespace d9d::config;
  return std::array{Key{"lr", "", "learning rate at multiplier 1", required, above(0)},
                    Key{"betas", "", "shares of the momentum in the direction, and in the next momentum",
                        d9d::config::optional, below_one()},
                    Key{"weight_decay", "", "times the learning rate", d9d::config::optional, at_least(0)},
                    d9d::optimizer_keys::rules};
}

namespace {

class Lion final : public d9d::FlatOptimizer {
 public:
  Lion(const LionConfig& config, const d9d::FlatParameters& parameters)
      : FlatOptimizer(parameters, config.rules, config.weight_decay), config_(config) {
    add_state("lion_momentum");  // its name in checkpoints
    add_masters();
  }

  void step(const d9d::UpdateScale& scale) override {
    const at::NoGradGuard no_grad;
    ++step_count_;
    for (const d9d::FlatRun& run : runs_) {
      const auto [beta1, beta2] = run.settings.betas.value_or(config_.betas);
      const double lr = config_.lr * scale.lr_multiplier * run.settings.lr_multiplier;
      const at::Tensor value = values(run);
      const at::Tensor momentum = state(0, run);
      const at::Tensor gradient = grad(run).to(momentum.scalar_type()) * scale.grad;
      const at::Tensor direction = (momentum * beta1 + gradient * (1 - beta1)).sign();
      value.mul_(1 - lr * run.settings.weight_decay).sub_(direction, lr);
      momentum.mul_(beta2).add_(gradient, 1 - beta2);
      round_masters(run);
      grad(run).zero_();
    }
  }

 private:
  const LionConfig config_;
};

class LionProvider final : public d9d::OptimizerProvider {
 public:
  explicit LionProvider(const LionConfig& config) : config_(config) {}
  double learning_rate() const override { return config_.lr; }
  std::unique_ptr<d9d::Optimizer> make(const d9d::FlatParameters& parameters,
                                       const d9d::OptimizerContext&) const override {
    return std::make_unique<Lion>(config_, parameters);
  }
  std::vector<d9d::ParameterRule> rules() const override { return config_.rules; }

 private:
  const LionConfig config_;
};

}  // namespace

void add_lion(d9d::Registry& registry) {
  registry.add_optimizer("lion", [](const d9d::config::Section& section) {
    return std::make_shared<LionProvider>(d9d::config::decode<LionConfig>(section));
  });
}

}  // namespace mine
