// AdamW on bf16 parameters with fp32 arithmetic and stochastic rounding (OPT-01 .. OPT-04).
#include "kernels/optimizer/stochastic_adamw.hpp"
#include "runtime/base/error.hpp"
#include "runtime/tensor/torch_dtype.hpp"
#include "runtime/train/optimizer/block_place.hpp"
#include "runtime/train/optimizer/flat_optimizer.hpp"

namespace d9d {
namespace {

class StochasticAdamW final : public FlatOptimizer {
 public:
  StochasticAdamW(const StochasticAdamWOptions& options, const FlatParameters& parameters, std::uint64_t seed)
      : FlatOptimizer(parameters, options.rules, options.weight_decay), options_(options), seed_(seed) {
    for (const FlatFamily& family : parameters.families()) {
      const at::ScalarType grad = family.grad.scalar_type();
      D9D_REQUIRE(
          family.data.scalar_type() == at::kBFloat16 && (grad == at::kFloat || grad == at::kBFloat16),
          "optimizer stochastic_adamw updates bfloat16 parameters with float32 or bfloat16 gradients, got {} "
          "with {}; choose adamw",
          c10::toString(family.data.scalar_type()), c10::toString(grad));
    }
    const at::ScalarType dtype = scalar_type_of(options.state_dtype);
    add_state("exp_avg", dtype);
    add_state("exp_avg_sq", dtype);
  }

  void step(const UpdateScale& scale) override {
    ++step_count_;
    for (const GradientBucket& bucket : parameters_.buckets()) {
      for (const FlatSegment& segment : bucket.segments) update_parameter(bucket.family, segment, scale);
    }
  }

 private:
  void update_parameter(std::size_t family, const FlatSegment& segment, const UpdateScale& scale) const {
    const StageParameter& parameter = parameters_.parameters()[segment.parameter];
    const ParameterSettings settings = settings_of(parameter.name, options_.rules, options_.weight_decay);
    const FlatRun run{family, segment.begin, segment.begin + segment.count, settings};
    const auto step = static_cast<std::uint64_t>(step_count_);
    const kernels::RoundingNoise noise{
        .value_and_first = key_of(RandomStream(seed_, "rounding:" + parameter.name, step)),
        .second = key_of(RandomStream(seed_, "rounding second moment:" + parameter.name, step)),
        .place = block_place(parameter.layout.global_shape(), parameter.layout.local_slice())};
    kernels::stochastic_adamw_step(data(run), grad(run), state(0, run), state(1, run),
                                   update_of(settings, scale), noise);
  }

  kernels::AdamWSettings update_of(const ParameterSettings& settings, const UpdateScale& scale) const {
    const auto [beta1, beta2] = settings.betas.value_or(options_.betas);
    return {.lr = options_.lr * scale.lr_multiplier * settings.lr_multiplier,
            .beta1 = beta1,
            .beta2 = beta2,
            .eps = options_.eps,
            .weight_decay = settings.weight_decay,
            .step = step_count_,
            .grad_scale = scale.grad,
            .zero_grad = true};
  }

  const StochasticAdamWOptions options_;
  const std::uint64_t seed_;
};

}  // namespace

std::unique_ptr<Optimizer> make_stochastic_adamw(const StochasticAdamWOptions& options,
                                                 const FlatParameters& parameters, std::uint64_t seed) {
  return std::make_unique<StochasticAdamW>(options, parameters, seed);
}

}  // namespace d9d
