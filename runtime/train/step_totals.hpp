#pragma once
// The numbers that all ranks add up at the end of a step, in one reduction over the world. Doubles, because
// a reduction carries doubles. No torch in this header.

#include <span>
#include <vector>

namespace d9d {

struct StepTotals {
  // Sums over the microbatches of a rank, then over all ranks. Of ranks that see the same tokens (those of
  // tp) only one counts them (W-03).
  double loss_sum = 0;  // of loss * weight
  double weight_sum = 0;
  double norm_share = 0;  // of the gradient of loss_sum: each rank's share (norm_type.hpp)
  double tokens = 0;
  double flops = 0;  // of the model over these tokens; 0 if the job does not log it

  std::vector<double> costs;  // measured for schedule `auto` when it is due; equally many on all ranks
};

// Convert to the list of numbers that ReduceValues carries, and back. A list
// that is too short is a bug error.
std::vector<double> to_values(const StepTotals& totals);
StepTotals step_totals_from(std::span<const double> values);

}  // namespace d9d
