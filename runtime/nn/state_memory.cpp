#include "runtime/nn/state_memory.hpp"

#include <algorithm>

#include "runtime/nn/model_costs.hpp"

namespace d9d {
namespace {

// Elements of the units of a stage in forward order, without experts that several ranks share.
std::vector<std::int64_t> units_of(const Qwen3Config& config, StagePosition position, bool own_experts) {
  const auto ranges =
      distribute_layers(config.num_hidden_layers, position.num_stages, config.pipeline_num_virtual_layers_pre,
                        config.pipeline_num_virtual_layers_post);
  const LayerRange& layers = ranges.at(static_cast<std::size_t>(position.stage));
  const std::int64_t table = config.vocab_size * config.hidden_size;
  std::vector<std::int64_t> units;
  if (position.is_first()) units.push_back(table);
  for (std::int64_t layer = layers.begin; layer < layers.end; ++layer) {
    const ParameterCounts counts = count_layer_parameters(config, layer);
    units.push_back(counts.total - (own_experts ? 0 : counts.experts));
  }
  if (position.is_last()) units.push_back(config.hidden_size + (config.tie_word_embeddings ? 0 : table));
  return units;
}

// Of `length` that follow each other, or all of them.
std::int64_t largest_run(const std::vector<std::int64_t>& units, int length) {
  std::int64_t run = 0;
  std::int64_t largest = 0;
  for (std::size_t i = 0; i < units.size(); ++i) {
    run += units[i];
    if (i >= static_cast<std::size_t>(length)) run -= units[i - static_cast<std::size_t>(length)];
    largest = std::max(largest, run);
  }
  return largest;
}

}  // namespace

StateMemory state_memory(const Qwen3Config& config, const std::vector<StagePosition>& stages,
                         const StateMemoryOptions& options) {
  std::int64_t in_units = 0;
  std::int64_t experts = 0;
  std::int64_t gathered = 0;  // a unit and the next one
  std::int64_t open = 0;
  std::int64_t largest = 0;
  for (const StagePosition position : stages) {
    const auto units = units_of(config, position, options.expert_ranks == 1);
    for (const std::int64_t unit : units) in_units += unit;
    gathered = std::max(gathered, largest_run(units, 2));
    open = std::max(open, largest_run(units, 1 + options.units_in_reduction));
    largest = std::max(largest, largest_run(units, 1));
    if (options.expert_ranks > 1)
      experts += count_parameters(config, position).experts / options.expert_ranks;
  }
  const std::int64_t own = (in_units + options.shards - 1) / options.shards + experts;
  StateMemory memory{.parameters = own * options.parameter_bytes,
                     .gradients = own * options.gradient_bytes,
                     .optimizer = own * options.optimizer_bytes};
  if (options.shards == 1) return memory;
  memory.gathered = (options.keeps_values ? in_units : gathered) * options.parameter_bytes;
  memory.whole_gradients = (options.keeps_gradients ? in_units : open) * options.gradient_bytes;
  if (options.adds_gradients) memory.whole_gradients += largest / options.shards * options.gradient_bytes;
  return memory;
}

}  // namespace d9d
