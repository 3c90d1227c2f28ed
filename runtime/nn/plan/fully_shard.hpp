#pragma once
// Strategies that store a shard of each parameter per rank and gather it for use.
//   parallelize_fully_shard  FSDP; ZeRO stage 3 (Rajbhandari et al. 2020); HSDP when other axes replicate.
//     Shards parameters over dimension 0. The rank's communication thread gathers the parameters of one unit
//     (a layer) while the unit before it computes.
//   parallelize_zero1        ZeRO stage 1. Parameters stay whole during a step. At its end gradients are
//     reduce-scattered and the optimizer updates this rank's shards.

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/nn/model/unit_hook.hpp"
#include "runtime/nn/plan/parallel_options.hpp"
#include "runtime/nn/shard/placing.hpp"
#include "runtime/nn/shard/stage_groups.hpp"

namespace d9d {

struct UnitPolicy;

// Call both on all ranks of the stage, after tensor and expert parallelism. `uses`: the units, in the order
// of the forward pass. Dense weights are sharded over `axis` and replicated over the other dense axes.
// Expert weights are sharded over ep_replicate, whose ranks would otherwise hold copies. A shard that
// another axis made of dimension 0 is split further. Afterwards each StageParameter holds this rank's shard;
// the modules keep their whole tensors.
void parallelize_fully_shard(StageParameters& parameters, const std::vector<UnitUse>& uses,
                             const std::string& axis, StageGroups& groups, const FullyShardOptions& options);
void parallelize_zero1(StageParameters& parameters, const std::vector<UnitUse>& uses, const std::string& axis,
                       StageGroups& groups);

// How they treat their units. `pipeline`: the job has one.
UnitPolicy fully_shard_policy(const FullyShardOptions& options, bool pipeline);
UnitPolicy zero1_policy();

// Elements between the weights of units while these are whole.
struct UnitGaps {
  std::int64_t values = 0;
  std::int64_t gradients = 0;  // of units that train
};
// Of each use, once a strategy has made its units. A unit counts for its first use.
std::vector<UnitGaps> gaps_in_units(const std::vector<UnitUse>& uses);

}  // namespace d9d
