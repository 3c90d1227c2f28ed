#pragma once
// The numbers of a step's end: mean loss, global norm, and the one factor that every gradient is multiplied
// by. No torch in this header.
//
// Gradients are sums of weight * d loss. The mean over all tokens of the step needs 1 / weight, clipping
// another factor; both are folded into the optimizer's pass.

#include <optional>

namespace d9d {

// Sums over the microbatches of a rank, then over the ranks with different tokens: the dp (and, where
// sequences are split, cp) axes of the batch domain, never tp or others that see the same tokens (W-03).
struct LossSums {
  double loss = 0;  // of loss * weight
  double weight = 0;

  void add(double mean_loss, double its_weight) {
    loss += mean_loss * its_weight;
    weight += its_weight;
  }
  // 0 for a step in which nothing counts.
  double mean() const { return weight > 0 ? loss / weight : 0; }
};

struct StepScale {
  double norm = 0;  // L2, of the mean loss's gradient, before clipping
  double clip = 1;  // min(1, max_norm / (norm + 1e-6))
  double grad = 0;  // clip / weight: what gradient sums are multiplied by; 0 when nothing counts
};

// `squares`: sum over all ranks of their shares (gradient_norm.hpp). A norm that is not finite gives factors
// that are not finite either: look at `norm` before applying them.
StepScale step_scale(double squares, double weight, std::optional<double> max_norm);

}  // namespace d9d
