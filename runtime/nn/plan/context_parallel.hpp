#pragma once
// Context parallelism: each rank of axis cp of the batch domain holds some tokens of every
// sequence (runtime/rank/feed/context_split.hpp splits the batch). Attention exchanges keys and values
// between these ranks. The other blocks work on single tokens and do not change. Parameters are
// placed by the other strategies.

#include <memory>

#include "runtime/nn/attention/attention_core.hpp"
#include "runtime/nn/plan/parallel_options.hpp"
#include "runtime/nn/shard/stage_groups.hpp"

namespace d9d {

// Makes the attention core that attends over the tokens of all cp ranks. Returns null when cp has one rank.
// `heads`: query heads per rank. Input error when Ulysses cannot split them over the cp ranks.
std::shared_ptr<const AttentionCore> make_context_attention(StageGroups& groups,
                                                            const ContextOptions& options,
                                                            std::int64_t heads);

}  // namespace d9d
