#pragma once
// Bytes that a rank keeps of a model's parameters, gradients and optimizer state, counted from its
// description alone: for `d9d-node check`. Activations: model_costs.hpp.

#include <cstdint>
#include <vector>

#include "runtime/nn/size/layer_distribution.hpp"
#include "runtime/nn/size/model_description.hpp"
#include "runtime/nn/size/stage_layers.hpp"

namespace d9d {

struct StateMemoryOptions {
  std::int64_t parameter_bytes = 4;  // of an element
  std::int64_t gradient_bytes = 4;
  double optimizer_bytes = 8;
  int tensor_ranks = 1;          // of tensor parallelism: counted is the first
  int expert_ranks = 1;          // that share the experts
  int shards = 1;                // into which everything else is cut, unit by unit (fully_shard.hpp)
  int expert_shards = 1;         // into which those of a rank are cut besides
  bool keeps_values = false;     // gathered parameters stay in a step
  bool keeps_gradients = false;  // whole gradients stay in a step, not only until their unit is reduced
  bool adds_gradients =
      false;                   // a shard of them is summed before it is added to those of microbatches before
  int units_in_reduction = 1;  // whose gradients are being reduced while the next one's are computed
};

struct StateMemory {
  std::int64_t parameters = 0;  // that stay between steps
  std::int64_t gathered = 0;    // besides, at the peak: a unit that computes and the next, or all of them
  std::int64_t gradients = 0;
  std::int64_t whole_gradients = 0;  // besides, at the peak: of the units that compute or reduce, or of all
  std::int64_t optimizer = 0;
};

// Of a rank that holds these pipeline stages.
StateMemory state_memory(const ModelDescription& model, const std::vector<StagePosition>& stages,
                         const StateMemoryOptions& options, const StageSplit& split = {});

}  // namespace d9d
