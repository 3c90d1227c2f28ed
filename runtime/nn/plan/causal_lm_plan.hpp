#pragma once
// Applies the parallel strategies that the job's mesh asks for to the blocks of a stage of a causal language
// model, whatever its family. A plugin's model may call it, or have a function like it.

#include <vector>

#include "runtime/nn/model/unit_hook.hpp"
#include "runtime/nn/plan/parallel_options.hpp"
#include "runtime/nn/shard/placing.hpp"
#include "runtime/nn/shard/stage_groups.hpp"

namespace d9d {

// Returns the stage's parameters with their final layouts. `stage` must be a CausalLm, else it is a bug.
// Input error when the model does not fit the mesh, for example when tensor_parallel does not divide the
// heads or expert_parallel does not divide the experts.
StageParameters parallelize_causal_lm(StageModule& stage, StageGroups& groups,
                                      const ParallelOptions& options);
// Where the parameters of a stage are used, in forward order. Empty when it is no CausalLm.
std::vector<UnitUse> uses_of_causal_lm(StageModule& stage);

}  // namespace d9d
