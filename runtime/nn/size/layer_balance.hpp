#pragma once
// A split of layers over pipeline stages by what they cost. Pure numbers.

#include <vector>

#include "runtime/nn/size/layer_distribution.hpp"

namespace d9d {

// In any unit. `pre` is added to the first stage (embedding), `post` to the last one (head).
struct LayerCosts {
  double pre = 0;
  std::vector<double> layers;
  double post = 0;
};

// Contiguous, non-empty ranges that minimise the cost of the dearest stage, and
// among those the sum of squares. Exact, by dynamic programming in
// O(stages * layers^2). Input error with more stages than layers.
std::vector<LayerRange> balance_layers(const LayerCosts& costs, int num_stages);

}  // namespace d9d
