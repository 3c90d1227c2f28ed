#pragma once
// The base of metrics whose state is some sums, also of a plugin's: the metric adds to the sums and computes values of
// them.
//
//   struct Accuracy final : SumsMetric {
//     Accuracy() : SumsMetric(2) {}
//     MetricValues compute(std::span<const double> sums) const override { return {{"", sums[0] / sums[1]}}; }
//   };
//   metrics.get<Accuracy>("accuracy").add({right, all});

#include <initializer_list>

#include "runtime/metric/metric.hpp"

namespace d9d {

class SumsMetric : public Metric {
 public:
  explicit SumsMetric(std::size_t count) : sums_(count, 0.0) {}

  // Adds one value to each sum. A bug: another number of values than of sums.
  void add(std::initializer_list<double> values);

  std::vector<ReduceOp> layout() const final { return std::vector<ReduceOp>(sums_.size(), ReduceOp::sum); }
  std::vector<double> state() const final { return sums_; }
  void load(std::span<const double> state) final;
  void reset() final { sums_.assign(sums_.size(), 0.0); }
  using Metric::compute;

 protected:
  std::vector<double> sums_;
};

}  // namespace d9d
