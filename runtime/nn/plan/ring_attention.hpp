#pragma once
// Ring attention (Liu et al. 2023, arXiv 2310.01889). Each rank keeps its queries; keys and values travel
// from rank to rank. A rank sends a block on while it computes with it. The results of the blocks are merged
// by the logarithms of their softmax denominators. Backward sends keys, values and the sums of their
// gradients round the ring once more. A rank does not compute with a block whose keys its queries do not see (under
// a causal rule all later ones, those out of reach of the window); it only passes the block on.

#include "runtime/nn/attention/attention_core.hpp"
#include "runtime/nn/shard/collectives.hpp"
#include "runtime/nn/shard/token_order.hpp"

namespace d9d {

class RingAttention final : public AttentionCore {
 public:
  // `group`: the ranks that share the sequence, in the order of token_order.hpp.
  RingAttention(SharedCommunicator group, TokenOrder order) : group_(std::move(group)), order_(order) {}

  // Sums of blocks are fp32 (fp64 for fp64). Every rank must hold the tokens that tokens_of() says.
  at::Tensor attend(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                    const AttentionRule& rule) const override;
  // The keys of a block are tokens of several places in the row.
  bool takes_bias() const override { return false; }

 private:
  const SharedCommunicator group_;
  const TokenOrder order_;
};

}  // namespace d9d
