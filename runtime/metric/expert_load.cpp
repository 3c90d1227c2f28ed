#include "runtime/metric/expert_load.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <numeric>

#include "runtime/base/error.hpp"

namespace d9d {
namespace {

constexpr const char* largest_share = "max_over_mean";
constexpr const char* smallest_share = "min_over_mean";

}  // namespace

ExpertLoad::ExpertLoad(std::int64_t num_layers, std::int64_t num_experts, bool each_layer)
    : SumsMetric(static_cast<std::size_t>(num_layers * num_experts)),
      num_experts_(static_cast<std::size_t>(num_experts)),
      each_layer_(each_layer) {}

void ExpertLoad::update(std::int64_t layer, std::span<const std::int64_t> tokens) {
  const std::size_t first = static_cast<std::size_t>(layer) * num_experts_;
  D9D_CHECK(layer >= 0 && first < sums_.size() && tokens.size() == num_experts_,
            "layer {} has counted the tokens of {} experts; {} experts were declared", layer, tokens.size(),
            num_experts_);
  for (std::size_t e = 0; e < num_experts_; ++e) sums_[first + e] += static_cast<double>(tokens[e]);
}

MetricValues ExpertLoad::compute(std::span<const double> state) const {
  constexpr double none = std::numeric_limits<double>::quiet_NaN();
  MetricValues values{{largest_share, none}, {smallest_share, none}};
  for (std::size_t first = 0; first < state.size(); first += num_experts_) {
    const auto layer = state.subspan(first, num_experts_);
    const double total = std::accumulate(layer.begin(), layer.end(), 0.0);
    if (total == 0) continue;
    const double mean = total / static_cast<double>(num_experts_);
    const auto [smallest, largest] = std::minmax_element(layer.begin(), layer.end());
    // Both skip the NaN that stands for "no layer yet"; std::max would keep it.
    values[0].second = std::fmax(values[0].second, *largest / mean);
    values[1].second = std::fmin(values[1].second, *smallest / mean);
    if (!each_layer_) continue;
    const std::string name = fmt::format("layer_{}/", first / num_experts_);
    values.emplace_back(name + largest_share, *largest / mean);
    values.emplace_back(name + smallest_share, *smallest / mean);
  }
  return values;
}

}  // namespace d9d
