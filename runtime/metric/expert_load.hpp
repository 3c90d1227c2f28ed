#pragma once
// How evenly the routers of a model share the tokens out to experts. State: tokens of each expert of each
// layer, [layers, E], summed over all ranks that routed some. Exact up to 2^53 tokens.

#include <cstdint>
#include <span>
#include <vector>

#include "runtime/metric/metric.hpp"

namespace d9d {

class ExpertLoad final : public Metric {
 public:
  // With `each_layer`, compute() reports every layer with experts, too.
  ExpertLoad(std::int64_t num_layers, std::int64_t num_experts, bool each_layer);

  // Tokens of one rank; one number for each expert. A bug for another number of them or a layer that is not there.
  void update(std::int64_t layer, std::span<const std::int64_t> tokens);

  std::vector<ReduceOp> layout() const override;
  std::vector<double> state() const override { return tokens_; }
  void load(std::span<const double> state) override;
  // max_over_mean: tokens of a layer's largest expert over the mean of its experts, of the layer where that is
  // largest; min_over_mean: of its smallest expert, of the layer where that is smallest. layer_N/...: of
  // layer N. Layers without tokens do not count; NaN where no layer has some.
  MetricValues compute(std::span<const double> state) const override;
  void reset() override;
  using Metric::compute;

 private:
  const std::size_t num_experts_;
  const bool each_layer_;
  std::vector<double> tokens_;
};

}  // namespace d9d
