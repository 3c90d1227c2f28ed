#include "runtime/train/optimizer/elementwise_optimizer.hpp"

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>

#include <utility>

#include "kernels/optimizer/stochastic_copy.hpp"
#include "runtime/base/error.hpp"
#include "runtime/train/optimizer/block_place.hpp"

namespace d9d {

ElementwiseOptimizer::ElementwiseOptimizer(ElementwiseOptions options, const FlatParameters& parameters)
    : FlatOptimizer(parameters, options.rules, options.weight_decay), options_(std::move(options)) {
  for (const std::string& name : options_.states) add_state(name);
  if (!options_.stochastic_rounding) {
    add_masters();
    return;
  }
  for (const FlatFamily& family : parameters.families())
    D9D_REQUIRE(
        family.data.scalar_type() != at::kHalf,
        "optimizer.stochastic_rounding: parameters of float16 are not rounded with noise, only those of "
        "bfloat16; leave it out");
}

void ElementwiseOptimizer::step(const UpdateScale& scale) {
  const at::NoGradGuard no_grad;
  ++step_count_;
  for (const FlatRun& run : runs_) {
    ElementUpdate update{.values = rounds(run) ? data(run).to(at::kFloat) : values(run),
                         .lr = options_.lr * scale.lr_multiplier * run.settings.lr_multiplier,
                         .settings = run.settings,
                         .step = step_count_};
    for (std::size_t i = 0; i < options_.states.size(); ++i) update.states.push_back(state(i, run));
    // Converts bfloat16 gradients before the scale, so that the product is not rounded to bfloat16.
    update.gradients = grad(run).to(update.values.scalar_type()) * scale.grad;
    options_.update(update);
    rounds(run) ? round(update.values, run) : round_masters(run);
    grad(run).zero_();
  }
}

bool ElementwiseOptimizer::rounds(const FlatRun& run) const {
  return options_.stochastic_rounding && data(run).scalar_type() == at::kBFloat16;
}

// Parameter by parameter, as the noise of an element depends on its parameter's name and its place there.
void ElementwiseOptimizer::round(const at::Tensor& values, const FlatRun& run) const {
  const at::Tensor weights = data(run);
  for (const FlatSegment& segment : run.segments) {
    const StageParameter& parameter = parameters_.parameters()[segment.parameter];
    const RandomStream noise(options_.seed, "rounding:" + parameter.name,
                             static_cast<std::uint64_t>(step_count_));
    const std::int64_t begin = segment.begin - run.begin;
    kernels::stochastic_copy(values.narrow(0, begin, segment.count), weights.narrow(0, begin, segment.count),
                             key_of(noise),
                             block_place(parameter.layout.global_shape(), parameter.layout.local_slice()));
  }
}

}  // namespace d9d
