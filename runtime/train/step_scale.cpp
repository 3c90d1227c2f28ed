#include "runtime/train/step_scale.hpp"

#include <algorithm>
#include <limits>

namespace d9d {
namespace {

constexpr double norm_epsilon = 1e-6;  // as in torch.nn.utils.clip_grad_norm_

}  // namespace

StepScale step_scale(const StepTotals& totals, const ClippingOptions& clipping, GradientsAre gradients) {
  StepScale scale;
  if (totals.weight_sum <= 0) {
    scale.loss = std::numeric_limits<double>::quiet_NaN();
    scale.counts = false;
    return scale;
  }
  scale.loss = totals.loss_sum / totals.weight_sum;
  const double divisor = gradients == GradientsAre::sums ? totals.weight_sum : 1;
  scale.norm = norm_of_share(clipping.norm_type, totals.norm_share) / divisor;
  if (clipping.max_norm) scale.clip = std::min(1.0, *clipping.max_norm / (scale.norm + norm_epsilon));
  scale.grad = scale.clip / divisor;
  return scale;
}

}  // namespace d9d
