#pragma once
// Statistics of classifiers from counts of true and false positives
// and negatives (METRIC-22 to 24); made by ConfusionMatrixBuilder.

#include <functional>
#include <memory>
#include <optional>

#include "runtime/metric/sums_metric.hpp"

namespace d9d {

// The counts of one output of the classifier, over all samples.
struct Confusion {
  double true_positive = 0;
  double false_positive = 0;
  double true_negative = 0;
  double false_negative = 0;
};

// Computes a score from counts. A zero denominator is not caught: 0/0 is NaN.
using ConfusionStatistic = std::function<double(const Confusion&)>;

enum class ConfusionAggregation {
  micro,      // counts of all outputs summed, then one score
  macro,      // mean of the scores
  weighted,   // mean by support (true positive + false negative)
  per_class,  // a value per output, named by its index
};

// binary: probabilities [N], targets [N] of 0 or 1, positive above the threshold.
// multiclass: scores [N, C], targets as index [N] (or [N, 1])
// or one-hot [N, C]; the prediction is the largest score.
//   With top_k: one output, a hit when the target is among the k largest scores (ties go to the lower index).
// multilabel: probabilities [N, C], targets [N, C] of 0 or 1, an output per label.
struct ConfusionProblem {
  enum class Kind { binary, multiclass, multilabel };
  Kind kind = Kind::binary;
  std::size_t num_classes = 1;
  double threshold = 0.5;
  std::optional<std::size_t> top_k;

  std::size_t num_outputs() const { return kind == Kind::binary || top_k ? 1 : num_classes; }
};

class ConfusionMatrix final : public SumsMetric {
 public:
  ConfusionMatrix(ConfusionProblem problem, ConfusionStatistic statistic, ConfusionAggregation aggregation);

  // Counts samples, row-major in the shapes above. Input error for other shapes;
  // nothing is counted then.
  void update(std::span<const double> predictions, std::span<const std::int64_t> targets);

  // The sums are four counts per output, in the order of Confusion.
  MetricValues compute(std::span<const double> state) const override;
  using Metric::compute;

 private:
  void count(std::size_t output, bool predicted, bool target);
  void update_row(std::span<const double> scores, std::span<const std::int64_t> targets);

  const ConfusionProblem problem_;
  const ConfusionStatistic statistic_;
  const ConfusionAggregation aggregation_;
};

}  // namespace d9d
