#pragma once
// The feed-forward half of a decoder layer: SwiGLU (Shazeer 2020, arXiv 2002.05202), alone or as one of many
// experts.

#include <array>

#include "runtime/nn/block/leaf.hpp"
#include "runtime/nn/parallel/activation_shards.hpp"

namespace d9d {

class Communicator;

class FeedForward : public torch::nn::Module {
 public:
  // x [B, S, H] -> [B, S, H]. `recompute` is true when activation checkpointing runs a forward a second time.
  virtual at::Tensor forward(const at::Tensor& x, bool recompute) = 0;
};

struct SwiGluLinears {
  Linear &gate, &up, &down;
};

// down(silu(gate(x)) * up(x)); no bias.
class SwiGlu final : public FeedForward {
 public:
  SwiGlu(ParameterMaker& make, std::int64_t hidden_size, std::int64_t intermediate_size);
  at::Tensor forward(const at::Tensor& x, bool recompute) override;

  SwiGluLinears linears() const { return {*gate_proj_, *up_proj_, *down_proj_}; }
  // From now on the weights hold a part of the inner width, x and the result this rank's tokens.
  void share_width(ActivationShards tokens) { tokens_ = std::move(tokens); }

 private:
  std::shared_ptr<Linear> gate_proj_, up_proj_, down_proj_;
  ActivationShards tokens_;
};

struct MoeOptions {
  std::int64_t hidden_size;
  std::int64_t intermediate_size;  // of one expert
  std::int64_t num_experts;
  std::int64_t top_k;
  bool renormalise;  // divide the chosen probabilities by their sum
};

// A token goes to the top_k experts of softmax(gate(x)); the output is the sum of theirs, weighted by
// probability.
class MixtureOfExperts final : public FeedForward {
 public:
  MixtureOfExperts(ParameterMaker& make, const MoeOptions& options);
  at::Tensor forward(const at::Tensor& x, bool recompute) override;

  const MoeOptions& options() const { return options_; }
  // gate [E, I, H], up [E, I, H] and down [E, H, I] projections.
  std::array<at::Tensor, 3> expert_weights() const;
  // From now on each rank of the group holds num_experts / size experts, in rank order, and gets their tokens
  // from all ranks of the group (see parallel/token_dispatch.hpp).
  void spread_experts(std::shared_ptr<Communicator> group) { group_ = std::move(group); }

  // Of this rank's tokens, how many each expert was given since the start or the last reset, int64 [E];
  // recomputed forwards do not count.
  const at::Tensor& expert_tokens() const { return expert_tokens_; }
  void reset_expert_tokens();

 private:
  at::Tensor run_experts(const at::Tensor& rows, const at::Tensor& probs, const at::Tensor& experts) const;

  MoeOptions options_;
  std::shared_ptr<Linear> gate_;
  std::shared_ptr<ModuleGroup> experts_;
  std::shared_ptr<GroupedLinear> gate_proj_, up_proj_, down_proj_;
  std::shared_ptr<Communicator> group_;  // null: all experts are here
  at::Tensor expert_tokens_;
};

}  // namespace d9d
