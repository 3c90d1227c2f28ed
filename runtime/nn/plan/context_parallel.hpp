#pragma once
// Context parallelism: attention over sequences whose tokens lie on the ranks
// of axis cp of the batch domain. The other blocks work on each token by itself
// and do not change. The batch is split accordingly before the model sees it
// (runtime/rank/context_split.hpp); parameters are the business of other strategies.

#include <memory>

#include "runtime/nn/block/attention_core.hpp"
#include "runtime/nn/plan/parallel_options.hpp"
#include "runtime/nn/shard/stage_groups.hpp"

namespace d9d {

// Attention over the rest of the sequence, too; null where cp is one rank. `heads`: query heads that a rank
// computes. Input error when Ulysses cannot share them.
std::shared_ptr<const AttentionCore> make_context_attention(StageGroups& groups,
                                                            const ContextOptions& options,
                                                            std::int64_t heads);

}  // namespace d9d
