#pragma once
// How values are spread: counts by bins, as a histogram of the trackers. For tasks that declare one.

#include "runtime/metric/metric.hpp"

namespace d9d {

class HistogramMetric final : public Metric {
 public:
  // Bins [edges[i], edges[i + 1]), [bins + 1]. Input error: fewer than two edges, or not ascending.
  explicit HistogramMetric(std::vector<double> edges);

  // A value below or above all bins counts in the outermost; NaN counts nowhere.
  void update(double value, double count = 1);

  std::vector<ReduceOp> layout() const override { return {counts_.size(), ReduceOp::sum}; }
  std::vector<double> state() const override { return counts_; }
  void load(std::span<const double> state) override;
  MetricValues compute(std::span<const double> /*state*/) const override { return {}; }
  // One without a name; none where nothing was counted.
  std::vector<NamedHistogram> histograms(std::span<const double> state) const override;
  void reset() override;

 private:
  const std::vector<double> edges_;
  std::vector<double> counts_;
};

// Without the empty bins at both ends; nothing is left of one that has counted nothing.
NamedHistogram trimmed(NamedHistogram histogram);

}  // namespace d9d
