#include "runtime/metric/aggregation.hpp"

#include <cmath>
#include <limits>

#include "runtime/base/error.hpp"

namespace d9d {

void WeightedMean::update(double value, double weight) {
  if (weight == 0) return;
  add({value * weight, weight});
}

MetricValues WeightedMean::compute(std::span<const double> state) const {
  D9D_CHECK(state.size() == 2, "the state of a weighted mean has 2 elements, not {}", state.size());
  return {{"", state[1] == 0 ? std::numeric_limits<double>::quiet_NaN() : state[0] / state[1]}};
}

MetricValues Perplexity::compute(std::span<const double> state) const {
  return {{"", std::exp(WeightedMean::compute(state).front().second)}};
}

Accumulator::Accumulator(ReduceOp reduce) : reduce_(reduce), value_(neutral(reduce)) {}

void Accumulator::load(std::span<const double> state) {
  D9D_CHECK(state.size() == 1, "the state of an accumulator has 1 element, not {}", state.size());
  value_ = state[0];
}

MetricValues Accumulator::compute(std::span<const double> state) const {
  D9D_CHECK(state.size() == 1, "the state of an accumulator has 1 element, not {}", state.size());
  return {{"", state[0]}};
}

void Accumulator::reset() {
  value_ = neutral(reduce_);
}

}  // namespace d9d
