#include "runtime/train/step_totals.hpp"

#include <array>

#include "runtime/base/error.hpp"

namespace d9d {
namespace {

// The order of the numbers in the list. The costs follow them.
constexpr std::array<double StepTotals::*, 5> scalars{&StepTotals::loss_sum, &StepTotals::weight_sum,
                                                      &StepTotals::norm_share, &StepTotals::tokens,
                                                      &StepTotals::flops};

}  // namespace

std::vector<double> to_values(const StepTotals& totals) {
  std::vector<double> values;
  values.reserve(scalars.size() + totals.costs.size());
  for (const auto scalar : scalars) values.push_back(totals.*scalar);
  values.insert(values.end(), totals.costs.begin(), totals.costs.end());
  return values;
}

StepTotals step_totals_from(std::span<const double> values) {
  D9D_CHECK(values.size() >= scalars.size(), "{} values were reduced, a step has {}", values.size(),
            scalars.size());
  StepTotals totals;
  for (std::size_t i = 0; i < scalars.size(); ++i) totals.*scalars[i] = values[i];
  const auto costs = values.subspan(scalars.size());
  totals.costs.assign(costs.begin(), costs.end());
  return totals;
}

}  // namespace d9d
