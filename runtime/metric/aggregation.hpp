#pragma once
// The simple metrics: weighted mean, its exponential, sum, largest and smallest value. State in fp64.

#include "runtime/metric/metric.hpp"

namespace d9d {

// sum(value * weight) / sum(weight); nothing accumulated gives NaN. A value of weight 0 does not count, not
// even if it is NaN.
class WeightedMean final : public Metric {
 public:
  void update(double value, double weight = 1.0);
  double accumulated_weight() const { return weight_; }

  std::vector<ReduceOp> layout() const override { return {ReduceOp::sum, ReduceOp::sum}; }
  std::vector<double> state() const override { return {weighted_sum_, weight_}; }
  void load(std::span<const double> state) override;
  MetricValues compute(std::span<const double> state) const override;
  void reset() override;
  using Metric::compute;

 private:
  double weighted_sum_ = 0;
  double weight_ = 0;
};

// The exponential of the weighted mean of negative log-likelihoods: the perplexity of these tokens.
class Perplexity final : public Metric {
 public:
  void update(double mean, double weight) { mean_.update(mean, weight); }

  std::vector<ReduceOp> layout() const override { return mean_.layout(); }
  std::vector<double> state() const override { return mean_.state(); }
  void load(std::span<const double> state) override { mean_.load(state); }
  MetricValues compute(std::span<const double> state) const override;
  void reset() override { mean_.reset(); }
  using Metric::compute;

 private:
  WeightedMean mean_;
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
