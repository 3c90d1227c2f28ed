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
  std::int64_t parameter_bytes = 4;  // per element, as the next two
  std::int64_t gradient_bytes = 4;
  double optimizer_bytes = 8;
  int tensor_ranks = 1;          // ranks of tensor parallelism; the first one is counted
  int expert_ranks = 1;          // ranks that share the experts
  int shards = 1;                // of everything but experts, unit by unit (fully_shard.hpp)
  int expert_shards = 1;         // of the experts of one rank
  bool keeps_values = false;     // gathered parameters stay until the end of the step
  bool keeps_gradients = false;  // whole gradients stay until the end of the step, else until their reduction
  bool adds_gradients = false;   // each reduction needs a buffer that is then added to the shard
  int units_in_reduction = 1;    // units whose gradients are reduced while another computes
};

struct StateMemory {
  std::int64_t parameters = 0;  // kept between steps
  std::int64_t gathered = 0;    // in addition, at the peak: of the computing unit and the next one, or of all
  std::int64_t gradients = 0;
  std::int64_t whole_gradients = 0;  // in addition, at the peak: of computing and reducing units, or of all
  std::int64_t optimizer = 0;
};

// Counts the bytes of a rank that holds the pipeline stages `stages`.
StateMemory state_memory(const ModelDescription& model, const std::vector<StagePosition>& stages,
                         const StateMemoryOptions& options, const StageSplit& split = {});

}  // namespace d9d
