#pragma once
// Area under the ROC curve of a binary classifier, from histograms of its probabilities (METRIC-20): the
// chance that a positive sample is rated above a negative one. Pairs within one bin count half, so the error
// is below 1 / num_bins of the pairs that share a bin.

#include "runtime/metric/sums_metric.hpp"

namespace d9d {

class BinaryAuroc final : public SumsMetric {
 public:
  explicit BinaryAuroc(std::size_t num_bins = 10'000);

  // Counts a probability (clamped to [0, 1]) and a label (0 or 1) for each sample. Input errors,
  // after which nothing is counted: different lengths, NaN, another label.
  void update(std::span<const double> probabilities, std::span<const std::int64_t> labels);

  // The sums are counts of the negatives by bin, then of the positives.
  // 0.5 while one of the classes is absent.
  MetricValues compute(std::span<const double> state) const override;
  using Metric::compute;

 private:
  const std::size_t num_bins_;
};

}  // namespace d9d
