#pragma once
// Ulysses (Jacobs et al. 2023, arXiv 2309.14509): an all-to-all before attention gives each rank the whole
// sequence for a part of the heads, another one after it gives each rank its tokens with all heads again.

#include "runtime/nn/block/attention_core.hpp"
#include "runtime/nn/shard/collectives.hpp"
#include "runtime/nn/shard/token_order.hpp"

namespace d9d {

class UlyssesAttention final : public AttentionCore {
 public:
  // `group`: the ranks that share the sequence, in the order their tokens are dealt out.
  UlyssesAttention(SharedCommunicator group, TokenOrder order) : group_(std::move(group)), order_(order) {}

  // Hq is divisible by the ranks (else a bug). Key heads that are not are sent as often as needed, each to
  // the ranks whose queries read it; their gradients are summed.
  at::Tensor mix(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, double scale) const override;

 private:
  at::Tensor to_heads(const at::Tensor& x) const;
  at::Tensor to_tokens(const at::Tensor& x) const;

  const SharedCommunicator group_;
  const TokenOrder order_;
};

}  // namespace d9d
