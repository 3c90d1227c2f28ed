#pragma once
// Ring attention (Liu et al. 2023, arXiv 2310.01889): each rank keeps its queries, keys and values go from
// rank to rank, and what a block of keys gives is merged by the logarithm of its softmax denominator. A block
// is on its way to the next rank while this one computes with it. In backward keys, values and the sums of
// their gradients go round once more. Blocks that lie wholly in the future are passed on and not computed.

#include "runtime/nn/block/attention_core.hpp"
#include "runtime/nn/shard/collectives.hpp"
#include "runtime/nn/shard/token_order.hpp"

namespace d9d {

class RingAttention final : public AttentionCore {
 public:
  // `group`: the ranks that share the sequence, in the order their tokens are dealt out.
  RingAttention(SharedCommunicator group, TokenOrder order) : group_(std::move(group)), order_(order) {}

  // Sums of blocks are made in fp32 (fp64 of fp64). The tokens are those tokens_of() names, on every rank.
  at::Tensor mix(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, double scale) const override;

 private:
  const SharedCommunicator group_;
  const TokenOrder order_;
};

}  // namespace d9d
