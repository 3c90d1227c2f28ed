#include "runtime/train/step_scale.hpp"

#include <algorithm>
#include <limits>

namespace d9d {
namespace {

constexpr double norm_epsilon = 1e-6;  // as in torch.nn.utils.clip_grad_norm_

// Makes every NaN positive: its sign means nothing, but would be printed.
double without_sign_of_nan(double number) {
  return std::isnan(number) ? std::numeric_limits<double>::quiet_NaN() : number;
}

}  // namespace

StepScale step_scale(const StepTotals& totals, const ClippingOptions& clipping, GradientsAre gradients) {
  StepScale scale;
  if (totals.weight_sum <= 0) {
    scale.loss = std::numeric_limits<double>::quiet_NaN();
    scale.counts = false;
    return scale;
  }
  scale.loss = without_sign_of_nan(totals.loss_sum / totals.weight_sum);
  const double divisor = gradients == GradientsAre::sums ? totals.weight_sum : 1;
  scale.norm = without_sign_of_nan(norm_of_share(clipping.norm_type, totals.norm_share) / divisor);
  if (clipping.max_norm) scale.clip = std::min(1.0, *clipping.max_norm / (scale.norm + norm_epsilon));
  scale.mean = 1 / divisor;
  scale.grad = scale.clip / divisor;
  return scale;
}

}  // namespace d9d
