#pragma once
// Measures how evenly the routers of a model distribute tokens to experts. State: tokens of
// each expert of each layer, [layers, E], summed over all ranks that routed tokens. Exact
// up to 2^53 tokens.

#include <cstdint>
#include <span>

#include "runtime/metric/sums_metric.hpp"

namespace d9d {

class ExpertLoad final : public SumsMetric {
 public:
  // With `each_layer`, compute() reports every layer with experts, too.
  ExpertLoad(std::int64_t num_layers, std::int64_t num_experts, bool each_layer);

  // Adds the tokens of one rank: one number for each expert. A bug: another count of numbers, or a
  // layer that does not exist.
  void update(std::int64_t layer, std::span<const std::int64_t> tokens);

  // Returns two numbers for the worst layer, and with `each_layer` both for every layer as
  // layer_N/...: max_over_mean is the tokens of the layer's largest expert over the mean of its
  // experts, min_over_mean those of its smallest expert over the mean. The worst layer is the one
  // with the largest max_over_mean, and the one with the smallest min_over_mean. Layers without
  // tokens do not count; NaN if no layer has any.
  MetricValues compute(std::span<const double> state) const override;
  using Metric::compute;

 private:
  const std::size_t num_experts_;
  const bool each_layer_;
};

}  // namespace d9d
