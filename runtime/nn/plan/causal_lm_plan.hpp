#pragma once
// The ready-made plan of causal language models, whatever their family: which strategy each of their blocks
// gets on the job's mesh. A plan of one's own is a function like this one.

#include "runtime/nn/plan/parallel_options.hpp"
#include "runtime/nn/shard/placing.hpp"
#include "runtime/nn/shard/stage_groups.hpp"

namespace d9d {

// `stage` is a CausalLm; another is a bug. Returns its parameters with their
// final layouts. Input error where the model does not fit the mesh (heads that
// tensor_parallel does not divide, experts that expert_parallel does not divide).
StageParameters parallelize_causal_lm(StageModule& stage, StageGroups& groups,
                                      const ParallelOptions& options);

}  // namespace d9d
