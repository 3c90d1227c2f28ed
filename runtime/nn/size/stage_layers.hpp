#pragma once
// Which layers of a model each pipeline stage holds. No torch.

#include <optional>
#include <vector>

#include "runtime/nn/size/layer_balance.hpp"
#include "runtime/nn/size/model_description.hpp"

namespace d9d {

// How layers are split over stages: by these costs (layer_costs() of model_costs.hpp), or evenly.
struct StageSplit {
  std::optional<LayerCosts> costs;
};

// One range per stage. Virtual layers count as layers of the mean cost in a split by costs, beside what the
// head costs anyway. Input errors as distribute_layers() and balance_layers() say.
std::vector<LayerRange> layers_of_stages(const ModelDescription& model, int num_stages,
                                         const StageSplit& split = {});

}  // namespace d9d
