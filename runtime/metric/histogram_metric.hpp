#pragma once
// Counts values by bins, for a histogram in the trackers. Tasks may declare it.

#include "runtime/metric/sums_metric.hpp"

namespace d9d {

class HistogramMetric final : public SumsMetric {
 public:
  // Bins [edges[i], edges[i + 1]), [bins + 1]. Input error: fewer than two edges, or not ascending.
  explicit HistogramMetric(std::vector<double> edges);

  // A value below or above all bins counts in the outermost; NaN counts nowhere.
  void update(double value, double count = 1);

  MetricValues compute(std::span<const double> /*state*/) const override { return {}; }
  // Returns one histogram without a name; none if nothing was counted.
  std::vector<NamedHistogram> histograms(std::span<const double> state) const override;

 private:
  const std::vector<double> edges_;
};

// Removes the empty bins at both ends; all of them if nothing was counted.
NamedHistogram trimmed(NamedHistogram histogram);

}  // namespace d9d
