#pragma once
// The losses of a stage's step, on the device and on the host.

#include <ATen/core/Tensor.h>

#include <vector>

namespace d9d {

// The losses that count, in the order of their microbatches. Empty on all stages but the last.
struct StageLosses {
  std::vector<at::Tensor> losses;  // one element each, on the stage's device
  std::vector<double> weights;
};

struct StageTotals {
  double loss_sum = 0;  // sum of loss * weight, in microbatch order
  double weight_sum = 0;
};
StageTotals totals_of(const std::vector<double>& losses, const std::vector<double>& weights);

}  // namespace d9d
