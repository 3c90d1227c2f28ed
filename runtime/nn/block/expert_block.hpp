#pragma once
// A block with experts, as models and strategies see it.

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <vector>

namespace d9d {

class Communicator;

// A block whose experts expert parallelism can shard.
class ExpertBlock {
 public:
  virtual ~ExpertBlock() = default;
  virtual std::int64_t num_experts() const = 0;
  // The weights of all experts, each [E, ..].
  virtual std::vector<at::Tensor> expert_weights() const = 0;
  // Makes the block expert-parallel. Afterwards each rank of the group computes num_experts / size experts,
  // in rank order, for the tokens of all ranks of the group (shard/token_dispatch.hpp).
  virtual void spread_experts(std::shared_ptr<Communicator> group) = 0;
  // Hands over the sums of the last forward for losses on the routing, once. fp32 [3, E], summed over this
  // rank's tokens that count: how often each expert was chosen; the softmax of the router's logits z; each
  // expert's share of (log sum exp z)^2. The latter two are differentiable. Undefined in a block that does
  // not keep them, and after a forward outside training.
  virtual at::Tensor take_router_sums() { return {}; }

  // Counts this rank's tokens that were routed to each expert since the start or the last reset, int64 [E].
  // Recomputed forwards and positions that only fill rows up do not count.
  virtual const at::Tensor& expert_tokens() const = 0;
  virtual void reset_expert_tokens() = 0;
  // Whether balance() changes anything.
  virtual bool balances_load() const { return false; }
  // Balances the load without a loss (Wang et al. 2024, arXiv 2408.15664, algorithm 1): raises the
  // selection bias of an expert by a fixed rate when it got fewer tokens than the mean, and lowers it
  // when it got more. `tokens`: the counts of all ranks, int64 [E]. The result depends on them alone,
  // so it is the same on all ranks.
  virtual void balance(const at::Tensor& /*tokens*/) {}
};

}  // namespace d9d
