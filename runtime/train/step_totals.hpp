#pragma once
// What all ranks add up at the end of a step, in one reduction over the world. Doubles; no torch in this header.

#include <span>
#include <vector>

namespace d9d {

struct StepTotals {
  // Over the microbatches of a rank, then over all ranks. Ranks
  // that see the same tokens (those of tp) count them once (W-03).
  double loss_sum = 0;  // of loss * weight
  double weight_sum = 0;
  double norm_share = 0;  // of the gradient of loss_sum: each rank's share (norm_type.hpp)
  double tokens = 0;
  double flops = 0;  // of the model over these tokens, where somebody asks

  std::vector<double> costs;  // measured by schedule `auto`, when it is time; as many on all ranks
};

// As the list of numbers that ReduceValues carries, and back. Bug error for a list that is too short.
std::vector<double> to_values(const StepTotals& totals);
StepTotals step_totals_from(std::span<const double> values);

}  // namespace d9d
