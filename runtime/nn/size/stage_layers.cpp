#include "runtime/nn/size/stage_layers.hpp"

#include <numeric>

namespace d9d {

std::vector<LayerRange> layers_of_stages(const ModelDescription& model, int num_stages,
                                         const StageSplit& split) {
  if (!split.costs) {
    return distribute_layers(model.num_hidden_layers, num_stages, model.pipeline_num_virtual_layers_pre,
                             model.pipeline_num_virtual_layers_post);
  }
  LayerCosts costs = *split.costs;
  const double mean = std::accumulate(costs.layers.begin(), costs.layers.end(), 0.0) /
                      static_cast<double>(costs.layers.size());
  costs.pre += mean * static_cast<double>(model.pipeline_num_virtual_layers_pre);
  costs.post += mean * static_cast<double>(model.pipeline_num_virtual_layers_post);
  return balance_layers(costs, num_stages);
}

}  // namespace d9d
