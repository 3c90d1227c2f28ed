#include "runtime/metric/histogram_metric.hpp"

#include <algorithm>
#include <cmath>
#include <functional>

#include "runtime/base/error.hpp"

namespace d9d {
namespace {

const std::vector<double>& checked(const std::vector<double>& edges) {
  D9D_REQUIRE(edges.size() >= 2 && std::ranges::adjacent_find(edges, std::greater_equal<>()) == edges.end(),
              "a histogram has {} edges; expected at least 2, each above the one before", edges.size());
  return edges;
}

}  // namespace

HistogramMetric::HistogramMetric(std::vector<double> edges)
    : SumsMetric(checked(edges).size() - 1), edges_(std::move(edges)) {}

void HistogramMetric::update(double value, double count) {
  if (std::isnan(value)) return;
  const auto above = std::ranges::upper_bound(edges_, value) - edges_.begin();
  const auto last = static_cast<std::ptrdiff_t>(sums_.size()) - 1;
  sums_[static_cast<std::size_t>(std::clamp<std::ptrdiff_t>(above - 1, 0, last))] += count;
}

std::vector<NamedHistogram> HistogramMetric::histograms(std::span<const double> state) const {
  NamedHistogram histogram = trimmed({"", edges_, {state.begin(), state.end()}});
  if (histogram.counts.empty()) return {};
  return {std::move(histogram)};
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
