#include "runtime/nn/size/state_memory.hpp"

#include <algorithm>

#include "runtime/nn/size/model_costs.hpp"

namespace d9d {
namespace {

// The elements of a unit while it is whole on a rank. Experts belong to a unit
// only when they are sharded, too.
struct UnitElements {
  std::int64_t dense = 0;
  std::int64_t experts = 0;

  std::int64_t whole() const { return dense + experts; }
};
using Units = std::vector<UnitElements>;

// The units of a stage, in forward order.
Units units_of(const ModelDescription& model, StagePosition position, const StateMemoryOptions& options,
               const StageSplit& split) {
  const auto ranges = layers_of_stages(model, position.num_stages, split);
  const LayerRange& layers = ranges.at(static_cast<std::size_t>(position.stage));
  const std::int64_t table = count_table_parameters(model, options.tensor_ranks);
  Units units;
  if (position.is_first()) units.push_back({table, 0});
  const auto add = [&](const ParameterCounts& counts) {
    if (options.expert_ranks == 1) {
      units.push_back({counts.total, 0});
    } else {
      const std::int64_t own = options.expert_shards > 1 ? counts.experts / options.expert_ranks : 0;
      units.push_back({counts.total - counts.experts, own});
    }
  };
  for (std::int64_t layer = layers.begin; layer < layers.end; ++layer)
    add(count_layer_parameters(model, layer, options.tensor_ranks));
  if (position.is_last()) {
    const std::int64_t copy = holds_tied_copy(model, position) ? table : 0;
    units.push_back({model.hidden_size + model.head_parameters(options.tensor_ranks) + copy, 0});
    for (std::int64_t depth = 0; depth < model.prediction_depths; ++depth)
      add(count_prediction_parameters(model, depth, options.tensor_ranks));
  }
  return units;
}

// The most elements of `length` consecutive units, or of all if there are fewer.
std::int64_t largest_run(const Units& units, int length) {
  std::int64_t run = 0;
  std::int64_t largest = 0;
  for (std::size_t i = 0; i < units.size(); ++i) {
    run += units[i].whole();
    if (i >= static_cast<std::size_t>(length)) run -= units[i - static_cast<std::size_t>(length)].whole();
    largest = std::max(largest, run);
  }
  return largest;
}

}  // namespace

StateMemory state_memory(const ModelDescription& model, const std::vector<StagePosition>& stages,
                         const StateMemoryOptions& options, const StageSplit& split) {
  UnitElements in_units;
  std::int64_t whole_experts = 0;  // experts that are not sharded
  std::int64_t gathered = 0;       // a unit and the next one
  std::int64_t open = 0;
  std::int64_t largest = 0;
  for (const StagePosition& position : stages) {
    const Units units = units_of(model, position, options, split);
    for (const UnitElements& unit : units) {
      in_units.dense += unit.dense;
      in_units.experts += unit.experts;
    }
    gathered = std::max(gathered, largest_run(units, 2));
    open = std::max(open, largest_run(units, 1 + options.units_in_reduction));
    largest = std::max(largest, largest_run(units, 1));
    if (options.expert_ranks > 1 && options.expert_shards == 1)
      whole_experts +=
          count_parameters(model, position, split, options.tensor_ranks).experts / options.expert_ranks;
  }
  const auto cut = [](std::int64_t elements, int parts) { return (elements + parts - 1) / parts; };
  const std::int64_t own =
      cut(in_units.dense, options.shards) + cut(in_units.experts, options.expert_shards) + whole_experts;
  StateMemory memory{
      .parameters = own * options.parameter_bytes,
      .gradients = own * options.gradient_bytes,
      .optimizer = static_cast<std::int64_t>(static_cast<double>(own) * options.optimizer_bytes)};
  if (options.shards == 1) return memory;
  memory.gathered = (options.keeps_values ? in_units.whole() : gathered) * options.parameter_bytes;
  memory.whole_gradients = (options.keeps_gradients ? in_units.whole() : open) * options.gradient_bytes;
  if (options.adds_gradients) memory.whole_gradients += largest / options.shards * options.gradient_bytes;
  return memory;
}

}  // namespace d9d
