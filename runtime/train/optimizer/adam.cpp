// Adam (Kingma and Ba 2015, algorithm 1) and AdamW (Loshchilov and Hutter 2019, algorithm 2), in the order of
// operations of torch.optim. AMSGrad: Reddi, Kale and Kumar 2018.
#include <ATen/core/grad_mode.h>
#include <ATen/ops/maximum.h>

#include <cmath>

#include "kernels/optimizer/optimizer.hpp"
#include "runtime/train/optimizer/flat_optimizer.hpp"
#include "runtime/train/optimizer/slabs.hpp"

namespace d9d {
namespace {

// Options: AdamWOptions or AdamOptions.
template <class Options>
class Adam final : public FlatOptimizer {
 public:
  Adam(const Options& options, const FlatParameters& parameters, ParameterFilter filter = {})
      : FlatOptimizer(parameters, options.rules, options.weight_decay, std::move(filter)), options_(options) {
    add_state("exp_avg");
    add_state("exp_avg_sq");
    if (options_.amsgrad) add_state("max_exp_avg_sq");
    if (options_.master_weights) add_masters();
  }

  void step(const UpdateScale& scale) override {
    const at::NoGradGuard no_grad;
    ++step_count_;
    for (const FlatRun& run : runs_) {
      const double lr = options_.lr * scale.lr_multiplier * run.settings.lr_multiplier;
      const double grad_scale = options_.maximize ? -scale.grad : scale.grad;
      has_kernel(run) ? update_fused(run, lr, grad_scale) : update(run, lr, grad_scale);
      round_masters(run);
    }
  }

 private:
  bool is_decoupled() const {
    if constexpr (requires { options_.decoupled_weight_decay; }) return options_.decoupled_weight_decay;
    return true;
  }

  std::array<double, 2> betas_of(const FlatRun& run) const {
    return run.settings.betas.value_or(options_.betas);
  }

  bool has_kernel(const FlatRun& run) const {
    const at::Tensor updated = values(run);
    return updated.scalar_type() == at::kFloat && grad(run).scalar_type() == at::kFloat && is_decoupled() &&
           !options_.amsgrad;
  }

  void update_fused(const FlatRun& run, double lr, double grad_scale) const {
    kernels::adamw_step(values(run), grad(run), state(0, run), state(1, run),
                        {.lr = lr,
                         .beta1 = betas_of(run)[0],
                         .beta2 = betas_of(run)[1],
                         .eps = options_.eps,
                         .weight_decay = run.settings.weight_decay,
                         .step = step_count_,
                         .grad_scale = grad_scale,
                         .zero_grad = true});
  }

  void update(const FlatRun& run, double lr, double grad_scale) const {
    std::vector<at::Tensor> tensors{values(run), grad(run), state(0, run), state(1, run)};
    if (options_.amsgrad) tensors.push_back(state(2, run));
    const auto steps = static_cast<double>(step_count_);
    const auto [beta1, beta2] = betas_of(run);
    const double correction1 = 1 - std::pow(beta1, steps);
    const double correction2 = std::sqrt(1 - std::pow(beta2, steps));
    for_slabs(tensors, [&, beta1 = beta1, beta2 = beta2](std::vector<at::Tensor>& slab) {
      const at::ScalarType wide = slab[2].scalar_type();
      at::Tensor value = slab[0].to(wide);
      at::Tensor gradient = slab[1].to(wide).mul(grad_scale);
      const double decay = run.settings.weight_decay;
      if (is_decoupled()) {
        value.mul_(1 - lr * decay);
      } else if (decay != 0) {
        gradient.add_(value, decay);
      }
      slab[2].lerp_(gradient, 1 - beta1);
      slab[3].mul_(beta2).addcmul_(gradient, gradient, 1 - beta2);
      if (options_.amsgrad) slab[4].copy_(at::maximum(slab[4], slab[3]));
      const at::Tensor second = options_.amsgrad ? slab[4] : slab[3];
      value.addcdiv_(slab[2], second.sqrt().div_(correction2).add_(options_.eps), -lr / correction1);
      if (value.data_ptr() != slab[0].data_ptr()) slab[0].copy_(value);
      slab[1].zero_();
    });
  }

  const Options options_;
};

}  // namespace

std::unique_ptr<Optimizer> make_adam(const AdamWOptions& options, const FlatParameters& parameters,
                                     ParameterFilter filter) {
  return std::make_unique<Adam<AdamWOptions>>(options, parameters, std::move(filter));
}

std::unique_ptr<Optimizer> make_adam(const AdamOptions& options, const FlatParameters& parameters) {
  return std::make_unique<Adam<AdamOptions>>(options, parameters);
}

}  // namespace d9d
