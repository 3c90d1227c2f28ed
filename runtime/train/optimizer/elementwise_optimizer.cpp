#include "runtime/train/optimizer/elementwise_optimizer.hpp"

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>

#include <utility>

namespace d9d {

ElementwiseOptimizer::ElementwiseOptimizer(ElementwiseOptions options, const FlatParameters& parameters)
    : FlatOptimizer(parameters, options.rules, options.weight_decay), options_(std::move(options)) {
  for (const std::string& name : options_.states) add_state(name);
  add_masters();
}

void ElementwiseOptimizer::step(const UpdateScale& scale) {
  const at::NoGradGuard no_grad;
  ++step_count_;
  for (const FlatRun& run : runs_) {
    ElementUpdate update{.values = values(run),
                         .lr = options_.lr * scale.lr_multiplier * run.settings.lr_multiplier,
                         .settings = run.settings,
                         .step = step_count_};
    for (std::size_t i = 0; i < options_.states.size(); ++i) update.states.push_back(state(i, run));
    // Converts bfloat16 gradients before the scale, so that the product is not rounded to bfloat16.
    update.gradients = grad(run).to(update.values.scalar_type()) * scale.grad;
    options_.update(update);
    round_masters(run);
    grad(run).zero_();
  }
}

}  // namespace d9d
