#pragma once
// The feed-forward half of a decoder layer: SwiGLU (Shazeer 2020, arXiv
// 2002.05202), alone or in many experts.

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "runtime/nn/block/block_options.hpp"
#include "runtime/nn/block/experts.hpp"
#include "runtime/nn/block/leaf.hpp"
#include "runtime/nn/shard/tensor_parallel.hpp"

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

class FeedForward : public torch::nn::Module {
 public:
  // x [B, S, H] -> [B, S, H]. `recompute` is true when activation checkpointing runs a forward a second
  // time. `token_mask`: bool [B, S], false where a position only fills the row up; undefined: all are
  // tokens. Filling positions are computed, but count in no sum.
  virtual at::Tensor forward(const at::Tensor& x, bool recompute, const at::Tensor& token_mask = {}) = 0;
  // Makes the block tensor-parallel. Afterwards x and the result hold this rank's tokens, as `tokens` says. A
  // block that keeps whole weights and works on single tokens needs no change.
  virtual void shard(TensorParallel& /*tensor*/, const ActivationShards& /*tokens*/) {}
  // Null for a layer without experts.
  virtual ExpertBlock* experts() { return nullptr; }
};

// down(silu(gate(x)) * up(x)), or with gelu instead of silu (GeGLU).
class SwiGlu final : public FeedForward {
 public:
  SwiGlu(ParameterMaker& make, const SwiGluOptions& options);
  at::Tensor forward(const at::Tensor& x, bool recompute, const at::Tensor& token_mask = {}) override;
  // Shards over the intermediate dimension: the rows of gate and up with their biases, the columns of down.
  // Its bias stays whole: it is added once, to the sum over ranks.
  void shard(TensorParallel& tensor, const ActivationShards& tokens) override;

 private:
  Activation activation_;
  std::shared_ptr<Linear> gate_proj_, up_proj_, down_proj_;
  ActivationShards tokens_;
};

// A token goes to the top_k experts by a score of gate(x) (kernels/moe.hpp), or by score + selection
// bias when the options ask for a bias. The output is the sum of these experts' outputs, weighted by
// score. A shared expert, if the options have one, is added: sigmoid(shared_expert_gate(x)) *
// shared_expert(x) (Qwen2-MoE), or shared_experts(x) without a gate (DeepSeek-V3). The bias is the
// persistent buffer gate.e_score_correction_bias, fp32 [E].
class MixtureOfExperts final : public FeedForward, public ExpertBlock {
 public:
  MixtureOfExperts(ParameterMaker& make, const MoeOptions& options);
  at::Tensor forward(const at::Tensor& x, bool recompute, const at::Tensor& token_mask = {}) override;
  // Shards the shared expert. Routed experts stay whole; expert parallelism spreads them.
  void shard(TensorParallel& tensor, const ActivationShards& tokens) override;
  ExpertBlock* experts() override { return this; }

  std::int64_t num_experts() const override { return options_.num_experts; }
  std::vector<at::Tensor> expert_weights() const override { return experts_->weights(); }
  void spread_experts(std::shared_ptr<Communicator> group) override { group_ = std::move(group); }

  const at::Tensor& expert_tokens() const override { return expert_tokens_; }
  at::Tensor take_router_sums() override { return std::exchange(router_sums_, {}); }
  void reset_expert_tokens() override;
  bool balances_load() const override { return selection_bias_.defined() && options_.bias_rate > 0; }
  void balance(const at::Tensor& tokens) override;

 private:
  // `counts`: how often tokens that count chose each expert, int64 [E].
  void add_choices(const at::Tensor& logits, const at::Tensor& counts, bool recompute,
                   const at::Tensor& token_mask);
  // What the shared expert adds; undefined without one.
  at::Tensor shared_part(const at::Tensor& x, bool recompute);

  MoeOptions options_;
  std::shared_ptr<Linear> gate_;
  std::shared_ptr<Experts> experts_;
  std::shared_ptr<SwiGlu> shared_expert_;  // null without a shared expert; so is its gate
  std::shared_ptr<Linear> shared_expert_gate_;
  std::shared_ptr<Communicator> group_;  // null: this rank has all experts
  at::Tensor selection_bias_;            // undefined without MoeOptions::selection_bias
  at::Tensor expert_tokens_;
  at::Tensor router_sums_;
};

}  // namespace d9d
