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
  // Each [E, ..].
  virtual std::vector<at::Tensor> expert_weights() const = 0;
  // Afterwards each rank of the group computes num_experts / size experts, in rank
  // order, for the tokens of all ranks of the group (shard/token_dispatch.hpp).
  virtual void spread_experts(std::shared_ptr<Communicator> group) = 0;
  // Of the last forward, handed over once, for losses on the routing; undefined in a block that does not
  // keep them, and after a forward that is not for training. fp32 [3, E], sums over this rank's tokens that count:
  // choices of each expert; the softmax of the router's logits z; a share for each expert of (log sum exp
  // z)^2. The latter two are differentiable.
  virtual at::Tensor take_router_sums() { return {}; }

  // How many of this rank's tokens were routed to each expert since the start or the last reset, int64 [E].
  // Recomputed forwards do not count, nor does what fills rows up.
  virtual const at::Tensor& expert_tokens() const = 0;
  virtual void reset_expert_tokens() = 0;
  // Whether balance() changes anything.
  virtual bool balances_load() const { return false; }
  // Balancing without a loss (Wang et al. 2024, arXiv 2408.15664, algorithm 1): the selection bias of an
  // expert rises by a fixed rate where it got fewer tokens than the mean, and falls where it got more.
  // `tokens`: of all ranks, int64 [E]. The result depends on them alone, so it is the same on all ranks.
  virtual void balance(const at::Tensor& /*tokens*/) {}
};

}  // namespace d9d
