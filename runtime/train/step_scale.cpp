#include "runtime/train/step_scale.hpp"

#include <algorithm>

#include "runtime/base/error.hpp"

namespace d9d {
namespace {

constexpr double norm_epsilon = 1e-6;  // as in torch.nn.utils.clip_grad_norm_

}  // namespace

StepScale step_scale(const StepTotals& totals, const ClippingOptions& clipping, GradientsAre gradients) {
  D9D_REQUIRE(!(totals.weight_sum <= 0),
              "no token of the whole batch counts in the loss (all labels are ignored); check the data");
  StepScale scale;
  scale.loss = totals.loss_sum / totals.weight_sum;
  const double divisor = gradients == GradientsAre::sums ? totals.weight_sum : 1;
  scale.norm = norm_of_share(clipping.norm_type, totals.norm_share) / divisor;
  if (clipping.max_norm) scale.clip = std::min(1.0, *clipping.max_norm / (scale.norm + norm_epsilon));
  scale.grad = scale.clip / divisor;
  return scale;
}

}  // namespace d9d
