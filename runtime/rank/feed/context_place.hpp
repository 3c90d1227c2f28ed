#pragma once
// The index of a rank among the ranks that share its sequences. No torch.

#include "runtime/mesh/plan.hpp"
#include "runtime/nn/shard/token_order.hpp"

namespace d9d {

struct ContextPlace {
  int rank = 0;  // on axis cp of the batch domain
  int ranks = 1;
  TokenOrder order = TokenOrder::zigzag;
};

inline ContextPlace context_place(const Plan& plan, int rank, TokenOrder order) {
  return {plan.placement(rank).context, plan.parameters().context_parallel(), order};
}

}  // namespace d9d
