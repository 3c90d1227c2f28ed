#pragma once
// The ready-made plan of Qwen3, dense and mixture of experts: which strategy each of its modules gets on the
// job's mesh. A plan of one's own is a function like this one.

#include "runtime/nn/parallel/parallel_options.hpp"
#include "runtime/nn/parallel/placing.hpp"
#include "runtime/nn/parallel/stage_groups.hpp"

namespace d9d {

// `stage` is one of build_qwen3_stage; another is a bug. Returns its parameters as they lie from now on.
// Input error where the model does not fit the mesh (heads that tensor_parallel does not divide, experts that
// expert_parallel does not divide).
StageParameters parallelize_qwen3(StageModule& stage, StageGroups& groups, const ParallelOptions& options);

}  // namespace d9d
