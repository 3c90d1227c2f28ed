#pragma once
// Shards a layer's experts over the ranks of axis ep_shard. Tokens are then sent to the rank that holds
// their expert. The router stays whole on every rank.

#include "runtime/nn/shard/placing.hpp"
#include "runtime/nn/shard/stage_groups.hpp"

namespace d9d {

class ExpertBlock;

// Gives expert weights the layout [ep_shard: shard(0), ep_replicate: replicate]. A rank's
// gradient of an expert is the sum over all tokens of its ep_shard group. Input error when
// expert_parallel does not divide the experts.
void parallelize_expert_parallel(ExpertBlock& layer, StageParameters& parameters, StageGroups& groups);

}  // namespace d9d
