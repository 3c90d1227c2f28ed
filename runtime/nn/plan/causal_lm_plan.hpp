#pragma once
// The plan for causal language models of any family: applies the parallel strategies that the job's mesh asks
// for to the blocks of a stage. A plugin's model may use it or have a function like it.

#include "runtime/nn/plan/parallel_options.hpp"
#include "runtime/nn/shard/placing.hpp"
#include "runtime/nn/shard/stage_groups.hpp"

namespace d9d {

// `stage` must be a CausalLm, else it is a bug. Returns the stage's parameters with their final
// layouts. Input error when the model does not fit the mesh: tensor_parallel
// does not divide the heads, or expert_parallel does not divide the experts.
StageParameters parallelize_causal_lm(StageModule& stage, StageGroups& groups,
                                      const ParallelOptions& options);

}  // namespace d9d
