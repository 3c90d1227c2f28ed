#pragma once
// Which layers of a model each pipeline stage holds. No torch.

#include <optional>
#include <vector>

#include "runtime/nn/size/layer_balance.hpp"
#include "runtime/nn/size/model_description.hpp"

namespace d9d {

// How layers are split over stages: by `costs` (layer_costs() of model_costs.hpp), or evenly without them.
struct StageSplit {
  std::optional<LayerCosts> costs;
};

// Returns one range per stage. In a split by costs each virtual layer costs as much as a mean layer, in
// addition to the costs of the head. Input errors as in distribute_layers() and balance_layers().
std::vector<LayerRange> layers_of_stages(const ModelDescription& model, int num_stages,
                                         const StageSplit& split = {});

}  // namespace d9d
