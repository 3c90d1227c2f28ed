#pragma once
// An optimizer, a learning-rate curve and a pipeline schedule of a plugin, each as a function of its keys; and a
// gradient hook.

#include "runtime/job/section/optimizer_config.hpp"
#include "runtime/pipeline/program/own_schedule.hpp"
#include "runtime/plugin/own_piece.hpp"
#include "runtime/train/gradient/gradient_hook.hpp"
#include "runtime/train/lr/lr_schedule.hpp"
#include "runtime/train/optimizer/elementwise_optimizer.hpp"

namespace d9d {

namespace own {

template <class Keys>
class Provider final : public OptimizerProvider {
 public:
  using Update = void (*)(const Keys&, const ElementUpdate&);
  Provider(const Keys& keys, std::vector<std::string> states, Update update)
      : keys_(keys), states_(std::move(states)), update_(update) {}
  double learning_rate() const override { return keys_.lr; }
  std::vector<ParameterRule> rules() const override { return keys_.rules; }
  std::unique_ptr<Optimizer> make(const FlatParameters& parameters,
                                  const OptimizerContext& context) const override {
    const auto update = [keys = keys_, call = update_](const ElementUpdate& part) { call(keys, part); };
    ElementwiseOptions options{keys_.lr, keys_.weight_decay, keys_.rules, states_, update};
    if constexpr (requires { keys_.stochastic_rounding; })
      options.stochastic_rounding = keys_.stochastic_rounding;
    options.seed = context.seed;
    return std::make_unique<ElementwiseOptimizer>(std::move(options), parameters);
  }

 private:
  const Keys keys_;
  const std::vector<std::string> states_;
  const Update update_;
};

template <class Keys>
class Curve final : public LrSchedule {
 public:
  using Multiplier = double (*)(const Keys&, std::int64_t step, std::int64_t total_steps);
  Curve(const Keys& keys, Multiplier multiplier) : keys_(keys), multiplier_(multiplier) {}
  std::function<double(std::int64_t)> over(std::int64_t total_steps) const override {
    multiplier_(keys_, 0, total_steps);  // what it refuses, it refuses before the job starts
    return [keys = keys_, call = multiplier_, total_steps](std::int64_t step) {
      return call(keys, step, total_steps);
    };
  }

 private:
  const Keys keys_;
  const Multiplier multiplier_;
};

}  // namespace own

// `optimizer: {name: NAME, ...}`; its keys have at least `double lr, weight_decay` and `std::vector<ParameterRule>
// rules`; with `bool stochastic_rounding` the job file chooses it (ElementwiseOptions). `states`: names of the tensors
// that it keeps beside the parameters.
template <class Keys>
void add_optimizer(Registry& registry, const std::string& name, std::vector<std::string> states,
                   void (*update)(const Keys&, const ElementUpdate&)) {
  registry.add_optimizer(name, [states, update](const config::Section& section) {
    const auto keys = config::decode<Keys>(section);
    D9D_REQUIRE(keys.lr > 0, "optimizer.lr: {} is no learning rate; give a number above 0", keys.lr);
    return std::make_shared<own::Provider<Keys>>(keys, states, update);
  });
}

// `lr_scheduler: {name: NAME, ...}`: the multiplier of the learning rate at a step from 0; see LrSchedule::over.
template <class Keys>
void add_lr_curve(Registry& registry, const std::string& name,
                  double (*multiplier)(const Keys&, std::int64_t step, std::int64_t total_steps)) {
  registry.add_lr_schedule(name, [multiplier](const config::Section& section) {
    return std::make_shared<own::Curve<Keys>>(config::decode<Keys>(section), multiplier);
  });
}

// `gradient_hooks: [{name: NAME, ...}]`: a GradientHook; its prepare() may take the PieceContext.
template <class Hook>
void add_gradient_hook(Registry& registry, const std::string& name) {
  registry.add_gradient_hook(name, [](const config::Section& section, const PieceContext& context) {
    return own::make<Hook>(section, context);
  });
}

// `trainer.pipelining.schedule: {schedule: NAME, ...}`; see PipelineSchedule, whose other fields `shape` has.
template <class Keys>
void add_schedule(Registry& registry, const std::string& name,
                  Program (*build)(const Keys&, int ranks, int microbatches), PipelineSchedule shape = {}) {
  registry.add_schedule(name, [build, shape](const config::Section& section) {
    auto made = std::make_shared<PipelineSchedule>(shape);
    made->build = [keys = config::decode<Keys>(section), build](int ranks, int microbatches) {
      return build(keys, ranks, microbatches);
    };
    return made;
  });
}

}  // namespace d9d
