#include "runtime/metric/sums_metric.hpp"

#include "runtime/base/error.hpp"

namespace d9d {

void SumsMetric::add(std::initializer_list<double> values) {
  D9D_CHECK(values.size() == sums_.size(), "{} values for {} sums", values.size(), sums_.size());
  std::size_t i = 0;
  for (const double value : values) sums_[i++] += value;
}

void SumsMetric::load(std::span<const double> state) {
  D9D_CHECK(state.size() == sums_.size(), "a state of {} numbers for {} sums", state.size(), sums_.size());
  sums_.assign(state.begin(), state.end());
}

}  // namespace d9d
