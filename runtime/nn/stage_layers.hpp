#pragma once
// Which layers of a Qwen3 model each pipeline stage holds. No torch.

#include <cstdint>
#include <vector>

#include "runtime/nn/layer_balance.hpp"
#include "runtime/nn/qwen3_config.hpp"

namespace d9d {

// How layers are split over stages.
struct StageSplit {
  bool by_costs = false;             // false: evenly, with the config's virtual layers
  std::int64_t sequence_length = 1;  // of the samples that costs are counted for
};

// One range per stage. By costs: layer_costs() of model_costs.hpp, balanced. Virtual layers count as layers
// of the mean cost in a split by costs, beside what the head costs anyway. Input errors as
// distribute_layers() and balance_layers() say.
std::vector<LayerRange> layers_of_stages(const Qwen3Config& config, int num_stages,
                                         const StageSplit& split = {});

}  // namespace d9d
