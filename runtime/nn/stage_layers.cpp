#include "runtime/nn/stage_layers.hpp"

#include <numeric>

#include "runtime/nn/model_costs.hpp"

namespace d9d {

std::vector<LayerRange> layers_of_stages(const Qwen3Config& config, int num_stages, const StageSplit& split) {
  if (!split.by_costs) {
    return distribute_layers(config.num_hidden_layers, num_stages, config.pipeline_num_virtual_layers_pre,
                             config.pipeline_num_virtual_layers_post);
  }
  LayerCosts costs = layer_costs(config, split.sequence_length);
  const double mean = std::accumulate(costs.layers.begin(), costs.layers.end(), 0.0) /
                      static_cast<double>(costs.layers.size());
  costs.pre += mean * static_cast<double>(config.pipeline_num_virtual_layers_pre);
  costs.post += mean * static_cast<double>(config.pipeline_num_virtual_layers_post);
  return balance_layers(costs, num_stages);
}

}  // namespace d9d
