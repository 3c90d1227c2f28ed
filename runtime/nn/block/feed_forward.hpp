#pragma once
// The feed-forward half of a decoder layer: SwiGLU (Shazeer
// 2020, arXiv 2002.05202), alone or as one of many experts.

#include <utility>
#include <vector>

#include "runtime/nn/block/block_options.hpp"
#include "runtime/nn/block/leaf.hpp"
#include "runtime/nn/shard/tensor_parallel.hpp"

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
  // keep them, and after a forward that is not for training. fp32 [3, E], sums over this rank's tokens:
  // choices of each expert; the softmax of the router's logits z; a share for each expert of (log sum exp
  // z)^2. The latter two are differentiable.
  virtual at::Tensor take_router_sums() { return {}; }
};

class FeedForward : public torch::nn::Module {
 public:
  // x [B, S, H] -> [B, S, H]. `recompute` is true when activation checkpointing runs a forward a second time.
  virtual at::Tensor forward(const at::Tensor& x, bool recompute) = 0;
  // Makes the block tensor-parallel. Afterwards x and the result hold this rank's tokens, as `tokens` says. A
  // block that keeps whole weights and works on single tokens needs no change.
  virtual void shard(TensorParallel& /*tensor*/, const ActivationShards& /*tokens*/) {}
  // Null for a layer without experts.
  virtual ExpertBlock* experts() { return nullptr; }
};

// down(silu(gate(x)) * up(x)); no bias.
class SwiGlu final : public FeedForward {
 public:
  SwiGlu(ParameterMaker& make, std::int64_t hidden_size, std::int64_t intermediate_size);
  at::Tensor forward(const at::Tensor& x, bool recompute) override;
  // Shards over the intermediate dimension: the rows of gate and up, the columns of down.
  void shard(TensorParallel& tensor, const ActivationShards& tokens) override;

 private:
  std::shared_ptr<Linear> gate_proj_, up_proj_, down_proj_;
  ActivationShards tokens_;
};

// A token goes to the top_k experts of softmax(gate(x));
// the output is the sum of theirs, weighted by probability. Where the options have a shared expert,
// sigmoid(shared_expert_gate(x)) * shared_expert(x) is added (Qwen2-MoE).
class MixtureOfExperts final : public FeedForward, public ExpertBlock {
 public:
  MixtureOfExperts(ParameterMaker& make, const MoeOptions& options);
  at::Tensor forward(const at::Tensor& x, bool recompute) override;
  // Shards the shared expert. The routed ones stay whole: expert parallelism spreads them.
  void shard(TensorParallel& tensor, const ActivationShards& tokens) override;
  ExpertBlock* experts() override { return this; }

  std::int64_t num_experts() const override { return options_.num_experts; }
  // gate [E, I, H], up [E, I, H] and down [E, H, I] projections.
  std::vector<at::Tensor> expert_weights() const override;
  void spread_experts(std::shared_ptr<Communicator> group) override { group_ = std::move(group); }

  // How many of this rank's tokens were routed to each expert since the start or the last reset, int64 [E].
  // Recomputed forwards do not count.
  const at::Tensor& expert_tokens() const { return expert_tokens_; }
  at::Tensor take_router_sums() override { return std::exchange(router_sums_, {}); }
  void reset_expert_tokens();

 private:
  at::Tensor routed(const at::Tensor& rows, bool recompute);
  at::Tensor run_experts(const at::Tensor& rows, const at::Tensor& probs, const at::Tensor& experts) const;

  MoeOptions options_;
  std::shared_ptr<Linear> gate_;
  std::shared_ptr<ModuleGroup> experts_;
  std::shared_ptr<GroupedLinear> gate_proj_, up_proj_, down_proj_;
  std::shared_ptr<SwiGlu> shared_expert_;  // null without
  std::shared_ptr<Linear> shared_expert_gate_;
  std::shared_ptr<Communicator> group_;  // null: this rank has all experts
  at::Tensor expert_tokens_;
  at::Tensor router_sums_;
};

}  // namespace d9d
