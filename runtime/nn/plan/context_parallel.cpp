#include "runtime/nn/plan/context_parallel.hpp"

#include "runtime/base/count.hpp"
#include "runtime/base/error.hpp"
#include "runtime/nn/plan/ring_attention.hpp"
#include "runtime/nn/plan/ulysses.hpp"

namespace d9d {

std::shared_ptr<const AttentionCore> make_context_attention(StageGroups& groups,
                                                            const ContextOptions& options,
                                                            std::int64_t heads) {
  const int ranks = groups.domains().parameters().context_parallel();
  if (ranks == 1) return nullptr;
  const bool ulysses = options.attention == ContextAttention::ulysses;
  D9D_REQUIRE(!ulysses || heads % ranks == 0,
              "ulysses cannot share {} over {} (context_parallel_shard x "
              "context_parallel_replicate); use parallelism.context.attention: ring",
              counted(heads, "attention head"), counted(ranks, "rank"));
  auto group = groups.open(batch_domain, {"cp"}, "context");
  if (ulysses) return std::make_shared<UlyssesAttention>(std::move(group), options.order);
  return std::make_shared<RingAttention>(std::move(group), options.order);
}

}  // namespace d9d
