#include "runtime/pipeline/stage/stage_losses.hpp"

namespace d9d {

StageTotals totals_of(const std::vector<double>& losses, const std::vector<double>& weights) {
  StageTotals totals;
  for (std::size_t i = 0; i < losses.size(); ++i) {
    totals.loss_sum += losses[i] * weights[i];
    totals.weight_sum += weights[i];
  }
  return totals;
}

}  // namespace d9d
