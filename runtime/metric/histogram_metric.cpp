#include "runtime/metric/histogram_metric.hpp"

#include <algorithm>
#include <cmath>
#include <functional>

#include "runtime/base/error.hpp"

namespace d9d {
namespace {

std::vector<double> checked_edges(std::vector<double> edges) {
  D9D_REQUIRE(edges.size() >= 2 && std::ranges::adjacent_find(edges, std::greater_equal<>()) == edges.end(),
              "a histogram has {} edges; expected at least 2, each above the one before", edges.size());
  return edges;
}

}  // namespace

HistogramMetric::HistogramMetric(std::vector<double> edges)
    : edges_(checked_edges(std::move(edges))), counts_(edges_.size() - 1) {}

void HistogramMetric::update(double value, double count) {
  if (std::isnan(value)) return;
  const auto above = std::ranges::upper_bound(edges_, value) - edges_.begin();
  const auto last = static_cast<std::ptrdiff_t>(counts_.size()) - 1;
  counts_[static_cast<std::size_t>(std::clamp<std::ptrdiff_t>(above - 1, 0, last))] += count;
}

void HistogramMetric::load(std::span<const double> state) {
  D9D_CHECK(state.size() == counts_.size(), "the state of this histogram has {} elements, not {}",
            counts_.size(), state.size());
  counts_.assign(state.begin(), state.end());
}

std::vector<NamedHistogram> HistogramMetric::histograms(std::span<const double> state) const {
  NamedHistogram histogram = trimmed({"", edges_, {state.begin(), state.end()}});
  if (histogram.counts.empty()) return {};
  return {std::move(histogram)};
}

void HistogramMetric::reset() {
  std::ranges::fill(counts_, 0.0);
}

NamedHistogram trimmed(NamedHistogram histogram) {
  auto& [name, edges, counts] = histogram;
  const auto is_filled = [](double count) { return count != 0; };
  const auto first = std::ranges::find_if(counts, is_filled) - counts.begin();
  const auto behind = std::find_if(counts.rbegin(), counts.rend(), is_filled).base() - counts.begin();
  if (behind <= first) return {name, {}, {}};
  edges = {edges.begin() + first, edges.begin() + behind + 1};
  counts = {counts.begin() + first, counts.begin() + behind};
  return histogram;
}

}  // namespace d9d
