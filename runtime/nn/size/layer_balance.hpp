#pragma once
// Splits layers over pipeline stages by their costs. Pure numbers.

#include <vector>

#include "runtime/nn/size/layer_distribution.hpp"

namespace d9d {

// Costs in any unit. `pre` is added to the first stage (embedding), `post` to the last one (head).
struct LayerCosts {
  double pre = 0;
  std::vector<double> layers;
  double post = 0;
};

// Returns contiguous, non-empty ranges that minimise the cost of the most expensive stage and, among equal
// ones, the sum of squares of all stages. Exact, by dynamic programming in O(stages * layers^2). Input
// error with more stages than layers.
std::vector<LayerRange> balance_layers(const LayerCosts& costs, int num_stages);

}  // namespace d9d
