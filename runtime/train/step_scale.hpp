#pragma once
// The numbers of a step's end: mean loss, global norm, and the one factor for every
// gradient. No torch in this header.
//
// Gradients are sums of weight * d loss. The mean over all tokens of the step needs the factor 1 / weight,
// and clipping another factor. The optimizer multiplies by both at once in its pass.

#include <cmath>
#include <optional>

#include "runtime/train/gradient/norm_type.hpp"
#include "runtime/train/step_totals.hpp"

namespace d9d {

struct ClippingOptions {
  std::optional<double> max_norm;  // clip to this; none: only measure
  NormType norm_type = NormType::l2;
};

struct StepScale {
  double loss = 0;     // mean over the weights of the step; NaN when no token counts
  double norm = 0;     // of the mean loss's gradient, before clipping
  double clip = 1;     // min(1, max_norm / (norm + 1e-6))
  double mean = 0;     // what makes the mean loss's gradient of the gradients at hand; 0 when no token counts
  double grad = 0;     // clip * mean, the factor of the update
  bool counts = true;  // whether any token of the step counts in the loss

  bool is_finite() const { return std::isfinite(loss) && std::isfinite(norm); }
};

// The form of the gradients from which the norm's shares were computed: sums over the microbatches, or
// means, already divided by the weight (after gradient hooks).
enum class GradientsAre { sums, means };

// `totals`: of all ranks.
StepScale step_scale(const StepTotals& totals, const ClippingOptions& clipping,
                     GradientsAre gradients = GradientsAre::sums);

}  // namespace d9d
