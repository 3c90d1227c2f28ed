#pragma once
// The simple metrics: weighted mean, its exponential, sum, largest and smallest value. State in fp64.

#include "runtime/metric/sums_metric.hpp"

namespace d9d {

// sum(value * weight) / sum(weight); nothing accumulated gives NaN. A value of weight 0 does not count, not
// even if it is NaN.
class WeightedMean : public SumsMetric {
 public:
  WeightedMean() : SumsMetric(2) {}
  void update(double value, double weight = 1.0);
  double accumulated_weight() const { return sums_[1]; }

  MetricValues compute(std::span<const double> state) const override;
  using Metric::compute;
};

// The exponential of the weighted mean of negative log-likelihoods: the perplexity of these tokens.
class Perplexity final : public WeightedMean {
 public:
  MetricValues compute(std::span<const double> state) const override;
  using Metric::compute;
};

// One number joined by sum, maximum or minimum; starts at 0, -infinity or +infinity.
class Accumulator final : public Metric {
 public:
  explicit Accumulator(ReduceOp reduce);

  void update(double value) { combine_states({&reduce_, 1}, {&value_, 1}, {&value, 1}); }

  std::vector<ReduceOp> layout() const override { return {reduce_}; }
  std::vector<double> state() const override { return {value_}; }
  void load(std::span<const double> state) override;
  MetricValues compute(std::span<const double> state) const override;
  void reset() override;
  using Metric::compute;

 private:
  const ReduceOp reduce_;
  double value_;
};

}  // namespace d9d
