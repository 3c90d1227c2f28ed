#pragma once
// parallelize_fully_shard: parameters lie in shards of dimension 0 and are gathered unit by unit ahead of
// use, on the rank's communication lane, while the unit before computes (ZeRO stage 3, Rajbhandari et al.
// 2020; hybrid where other axes replicate). parallelize_zero1: parameters stay whole in a step, gradients are
// scattered at its end, and the optimizer updates shards (ZeRO stage 1).

#include <string>
#include <vector>

#include "runtime/nn/model/unit_hook.hpp"
#include "runtime/nn/plan/parallel_options.hpp"
#include "runtime/nn/shard/placing.hpp"
#include "runtime/nn/shard/stage_groups.hpp"

namespace d9d {

// `uses` in the order of the forward pass. The weights among `parameters` are sharded over `axis` (outermost
// blocks first where other axes shard dimension 0 already) and replicated over the remaining dense axes;
// those of experts that several ranks share, over ep_replicate: all ranks that would hold the same ones.
// Their StageParameter then holds the shard; modules keep their tensors. To be called after the strategies
// that modules compute with, on every rank of the stage alike.
void parallelize_fully_shard(StageParameters& parameters, const std::vector<UnitUse>& uses,
                             const std::string& axis, StageGroups& groups, const FullyShardOptions& options);
void parallelize_zero1(StageParameters& parameters, const std::vector<UnitUse>& uses, const std::string& axis,
                       StageGroups& groups);

}  // namespace d9d
