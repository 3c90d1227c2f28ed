#pragma once
// The losses of a stage's step, before and after the host has seen them.

#include <ATen/core/Tensor.h>

#include <vector>

namespace d9d {

// Of the microbatches with a loss that counts, in their order; none but on the last stage.
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
