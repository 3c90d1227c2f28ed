#include "kernels/optimizer/adamw_pass.hpp"

#include <cmath>

#include "kernels/ops/optimizer_ops.hpp"
#include "kernels/optimizer/stochastic_adamw_pass.hpp"

namespace d9d::kernels {

AdamWPass adamw_pass(const AdamWSettings& s) {
  const auto steps = static_cast<double>(s.step);
  return {.decay = static_cast<float>(1 - s.lr * s.weight_decay),
          .rest1 = static_cast<float>(1 - s.beta1),
          .beta2 = static_cast<float>(s.beta2),
          .rest2 = static_cast<float>(1 - s.beta2),
          .step_size = static_cast<float>(s.lr / (1 - std::pow(s.beta1, steps))),
          .correction = static_cast<float>(std::sqrt(1 - std::pow(s.beta2, steps))),
          .eps = static_cast<float>(s.eps),
          .grad_scale = static_cast<float>(s.grad_scale),
          .zero_grad = s.zero_grad};
}

StochasticPass stochastic_pass(const AdamWSettings& s) {
  const AdamWPass pass = adamw_pass(s);
  return {.decay = pass.decay,
          .beta1 = static_cast<float>(s.beta1),
          .beta2 = pass.beta2,
          .step_size = pass.step_size,
          .correction = pass.correction,
          .eps = pass.eps,
          .grad_scale = pass.grad_scale};
}

}  // namespace d9d::kernels
