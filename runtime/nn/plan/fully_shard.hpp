#pragma once
// parallelize_fully_shard (FSDP; ZeRO stage 3, Rajbhandari et al. 2020; HSDP when other axes replicate):
// parameters are sharded over dimension 0. The rank's communication thread gathers the parameters of one unit
// (a layer) while the unit before it computes. parallelize_zero1 (ZeRO stage 1): parameters stay whole during
// a step; at its end gradients are reduce-scattered and the optimizer updates this rank's shards.

#include <string>
#include <vector>

#include "runtime/nn/model/unit_hook.hpp"
#include "runtime/nn/plan/parallel_options.hpp"
#include "runtime/nn/shard/placing.hpp"
#include "runtime/nn/shard/stage_groups.hpp"

namespace d9d {

// `uses`: the units, in the order of the forward pass. Dense weights are sharded over `axis`
// and replicated over the other dense axes; expert weights are sharded over ep_replicate,
// the ranks that would hold copies. Where another axis shards dimension 0 already, its shard
// is split further. Afterwards a StageParameter holds this rank's shard, while modules keep
// their whole tensors. Call it after tensor and expert parallelism, on all ranks of the stage.
void parallelize_fully_shard(StageParameters& parameters, const std::vector<UnitUse>& uses,
                             const std::string& axis, StageGroups& groups, const FullyShardOptions& options);
void parallelize_zero1(StageParameters& parameters, const std::vector<UnitUse>& uses, const std::string& axis,
                       StageGroups& groups);

}  // namespace d9d
