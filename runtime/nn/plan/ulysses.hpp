#pragma once
// Ulysses (Jacobs et al. 2023, arXiv 2309.14509). An all-to-all before attention gives each rank all tokens
// of some heads; a second one after it gives each rank all heads of its own tokens again.

#include "runtime/nn/attention/attention_core.hpp"
#include "runtime/nn/shard/collectives.hpp"
#include "runtime/nn/shard/token_order.hpp"

namespace d9d {

class UlyssesAttention final : public AttentionCore {
 public:
  // `group`: the ranks that share the sequence, in the order of token_order.hpp.
  UlyssesAttention(SharedCommunicator group, TokenOrder order) : group_(std::move(group)), order_(order) {}

  // The number of ranks must divide Hq, else it is a bug. When it does not divide Hkv, a key head is sent to
  // every rank whose queries read it, and its gradients are summed.
  at::Tensor attend(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                    const AttentionRule& rule) const override;

 private:
  at::Tensor to_heads(const at::Tensor& x) const;
  at::Tensor to_tokens(const at::Tensor& x) const;

  const SharedCommunicator group_;
  const TokenOrder order_;
};

}  // namespace d9d
