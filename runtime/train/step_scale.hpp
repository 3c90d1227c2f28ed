#pragma once
// The numbers of a step's end: mean loss, global norm, and the one factor that every gradient is multiplied
// by. No torch in this header.
//
// Gradients are sums of weight * d loss. The mean over all tokens of the step needs 1 / weight, clipping
// another factor; the optimizer multiplies by both in its one pass.

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
  double loss = 0;     // mean over the weights of the step; NaN where nothing counts
  double norm = 0;     // of the mean loss's gradient, before clipping
  double clip = 1;     // min(1, max_norm / (norm + 1e-6))
  double grad = 0;     // clip / weight: what gradient sums are multiplied by; 0 where nothing counts
  bool counts = true;  // whether any token of the step counts in the loss

  bool is_finite() const { return std::isfinite(loss) && std::isfinite(norm); }
};

// What the gradients are when the norm's shares are taken: sums over the microbatches, or already divided by the
// weight (gradient hooks see means).
enum class GradientsAre { sums, means };

// `totals`: of all ranks.
StepScale step_scale(const StepTotals& totals, const ClippingOptions& clipping,
                     GradientsAre gradients = GradientsAre::sums);

}  // namespace d9d
