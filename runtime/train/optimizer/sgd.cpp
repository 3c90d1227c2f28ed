// Stochastic gradient descent with momentum (Sutskever, Martens, Dahl and Hinton 2013),
// in the form of torch.optim.SGD.
#include <ATen/core/grad_mode.h>

#include "runtime/train/optimizer/flat_optimizer.hpp"
#include "runtime/train/optimizer/slabs.hpp"

namespace d9d {
namespace {

class Sgd final : public FlatOptimizer {
 public:
  Sgd(const SgdOptions& options, const FlatParameters& parameters)
      : FlatOptimizer(parameters, options.rules, options.weight_decay), options_(options) {
    if (options_.momentum != 0) add_state("momentum_buffer");
    if (options_.master_weights) add_masters();
  }

  void step(const UpdateScale& scale) override {
    const at::NoGradGuard no_grad;
    ++step_count_;
    for (const FlatRun& run : runs_) {
      const double lr = options_.lr * scale.lr_multiplier * run.settings.lr_multiplier;
      update(run, lr, options_.maximize ? -scale.grad : scale.grad);
      round_masters(run);
    }
  }

 private:
  void update(const FlatRun& run, double lr, double grad_scale) const {
    std::vector<at::Tensor> tensors{values(run), grad(run)};
    if (options_.momentum != 0) tensors.push_back(state(0, run));
    for_slabs(tensors, [&](std::vector<at::Tensor>& slab) {
      const at::ScalarType wide = slab[0].scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
      at::Tensor value = slab[0].to(wide);
      at::Tensor gradient = slab[1].to(wide).mul(grad_scale);
      if (run.settings.weight_decay != 0) gradient.add_(value, run.settings.weight_decay);
      if (options_.momentum != 0) gradient = with_momentum(slab[2], gradient);
      value.add_(gradient, -lr);
      if (value.data_ptr() != slab[0].data_ptr()) slab[0].copy_(value);
      slab[1].zero_();
    });
  }

  at::Tensor with_momentum(at::Tensor& velocity, const at::Tensor& gradient) const {
    // The first step starts the velocity with the whole gradient, whatever the dampening.
    velocity.mul_(options_.momentum).add_(gradient, step_count_ == 1 ? 1 : 1 - options_.dampening);
    return options_.nesterov ? gradient.add(velocity, options_.momentum) : velocity;
  }

  const SgdOptions options_;
};

}  // namespace

std::unique_ptr<Optimizer> make_sgd(const SgdOptions& options, const FlatParameters& parameters) {
  return std::make_unique<Sgd>(options, parameters);
}

}  // namespace d9d
