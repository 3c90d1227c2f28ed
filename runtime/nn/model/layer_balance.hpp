#pragma once
// A split of layers over pipeline stages by what they cost. Pure numbers.

#include <vector>

#include "runtime/nn/model/layer_distribution.hpp"

namespace d9d {

// In any unit; `pre` and `post` are the first and the last stage's alone (embedding, head).
struct LayerCosts {
  double pre = 0;
  std::vector<double> layers;
  double post = 0;
};

// Contiguous ranges, none empty, whose dearest stage is as cheap as can
// be; of those the most even ones (least sum of squares). Exact: dynamic
// programming, O(stages * layers^2). Input error with more stages than layers.
std::vector<LayerRange> balance_layers(const LayerCosts& costs, int num_stages);

}  // namespace d9d
