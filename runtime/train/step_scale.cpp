#include "runtime/train/step_scale.hpp"

#include <algorithm>
#include <cmath>

#include "runtime/base/error.hpp"

namespace d9d {
namespace {

constexpr double norm_epsilon = 1e-6;  // as in torch.nn.utils.clip_grad_norm_

}  // namespace

StepScale step_scale(const StepTotals& totals, std::optional<double> max_norm) {
  D9D_REQUIRE(!(totals.weight_sum <= 0),
              "no token of the whole batch counts in the loss (all labels are ignored); check the data");
  StepScale scale;
  scale.loss = totals.loss_sum / totals.weight_sum;
  scale.norm = std::sqrt(totals.squared_norm) / totals.weight_sum;
  if (!std::isfinite(scale.loss) || !std::isfinite(scale.norm)) {
    throw Error(ErrorKind::environment,
                fmt::format("loss is {} and gradient norm is {}. Lower the learning rate{}", scale.loss,
                            scale.norm, max_norm ? "" : ", or set trainer.gradient_clipping.max_norm"));
  }
  if (max_norm) scale.clip = std::min(1.0, *max_norm / (scale.norm + norm_epsilon));
  scale.grad = scale.clip / totals.weight_sum;
  return scale;
}

}  // namespace d9d
