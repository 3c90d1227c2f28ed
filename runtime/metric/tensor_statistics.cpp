#include "runtime/metric/tensor_statistics.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "runtime/base/error.hpp"
#include "runtime/metric/histogram_metric.hpp"

namespace d9d {
namespace {

// The indices of TensorCounts in the state; the bins follow them.
enum Place : std::size_t { elements, not_finite, sum, sum_of_squares, largest, bins };
constexpr std::array kinds{WatchedKind::gradient, WatchedKind::parameter};

std::size_t size_of_counts() {
  return bins + magnitude_edges().size() - 1;
}

const char* name_of_kind(WatchedKind kind) {
  return kind == WatchedKind::gradient ? "gradient" : "parameter";
}

}  // namespace

const std::vector<double>& magnitude_edges() {
  static const std::vector<double> edges = [] {
    std::vector<double> out;
    for (int power = largest_power; power >= smallest_power; --power) out.push_back(-std::ldexp(1.0, power));
    for (int power = smallest_power; power <= largest_power; ++power) out.push_back(std::ldexp(1.0, power));
    return out;
  }();
  return edges;
}

TensorStatistics::TensorStatistics(std::vector<std::string> groups, bool with_histograms)
    : groups_(std::move(groups)), with_histograms_(with_histograms) {
  reset();
}

std::size_t TensorStatistics::place_of(std::size_t group, WatchedKind kind) const {
  D9D_CHECK(group < groups_.size(), "group {} of {} of tensors", group, groups_.size());
  return (group * kinds.size() + static_cast<std::size_t>(kind)) * size_of_counts();
}

void TensorStatistics::update(std::size_t group, WatchedKind kind, const TensorCounts& counts) {
  D9D_CHECK(counts.bins.size() + bins == size_of_counts(), "{} bins of magnitudes", counts.bins.size());
  const std::size_t at = place_of(group, kind);
  state_[at + elements] += counts.elements;
  state_[at + not_finite] += counts.not_finite;
  state_[at + sum] += counts.sum;
  state_[at + sum_of_squares] += counts.sum_of_squares;
  state_[at + largest] = std::max(state_[at + largest], counts.largest);
  for (std::size_t i = 0; i < counts.bins.size(); ++i) state_[at + bins + i] += counts.bins[i];
}

std::vector<ReduceOp> TensorStatistics::layout() const {
  std::vector<ReduceOp> layout(groups_.size() * kinds.size() * size_of_counts(), ReduceOp::sum);
  for (std::size_t at = 0; at < layout.size(); at += size_of_counts()) layout[at + largest] = ReduceOp::max;
  return layout;
}

void TensorStatistics::load(std::span<const double> state) {
  D9D_CHECK(state.size() == state_.size(), "the state of these statistics has {} elements, not {}",
            state_.size(), state.size());
  state_.assign(state.begin(), state.end());
}

template <class Use>
void TensorStatistics::for_each(std::span<const double> state, Use use) const {
  for (std::size_t group = 0; group < groups_.size(); ++group) {
    for (const WatchedKind kind : kinds) {
      use(groups_[group] + "/" + name_of_kind(kind), state.subspan(place_of(group, kind), size_of_counts()));
    }
  }
}

MetricValues TensorStatistics::compute(std::span<const double> state) const {
  constexpr double none = std::numeric_limits<double>::quiet_NaN();
  MetricValues values;
  for_each(state, [&](const std::string& name, std::span<const double> counts) {
    const bool any = counts[elements] + counts[not_finite] > 0;
    values.emplace_back(name + "_norm", any ? std::sqrt(counts[sum_of_squares]) : none);
    values.emplace_back(name + "_mean", counts[sum] / counts[elements]);
    // Of tensors without a finite element the largest is still the -inf that a maximum starts with.
    values.emplace_back(name + "_max", any ? std::max(counts[largest], 0.0) : none);
    values.emplace_back(name + "_not_finite", any ? counts[not_finite] : none);
  });
  return values;
}

std::vector<NamedHistogram> TensorStatistics::histograms(std::span<const double> state) const {
  std::vector<NamedHistogram> out;
  if (!with_histograms_) return out;
  for_each(state, [&](const std::string& name, std::span<const double> counts) {
    const auto filled = counts.subspan(bins);
    NamedHistogram histogram = trimmed({name, magnitude_edges(), {filled.begin(), filled.end()}});
    if (!histogram.counts.empty()) out.push_back(std::move(histogram));
  });
  return out;
}

void TensorStatistics::reset() {
  const std::vector<ReduceOp> all = layout();
  state_.resize(all.size());
  std::ranges::transform(all, state_.begin(), neutral);
}

}  // namespace d9d
