#pragma once
// parallelize_expert_parallel: the experts of a layer are dealt out to the ranks of ep_shard; tokens travel
// to them. The router stays whole on every rank.

#include "runtime/nn/shard/placing.hpp"
#include "runtime/nn/shard/stage_groups.hpp"

namespace d9d {

class ExpertBlock;

// Expert weights become [ep_shard: shard(0), ep_replicate: replicate]; a rank's gradient of its experts is
// that of all tokens of its ep_shard group. Input error when expert_parallel does not divide the experts.
void parallelize_expert_parallel(ExpertBlock& layer, StageParameters& parameters, StageGroups& groups);

}  // namespace d9d
