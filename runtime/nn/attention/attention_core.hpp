#pragma once
// Attention between the tokens of a sequence: on this rank alone, or together with the ranks that hold the
// other tokens of the sequence (runtime/nn/plan/).

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>

#include "kernels/ops/attention_ops.hpp"

namespace d9d {

class AttentionBias;

struct AttentionRule {
  double scale = 1;  // of the scores
  // Number of keys that a query sees, ending with its own; in both directions: on each side of its own. 0: all.
  std::int64_t window = 0;
  // int64 [B, whole S], the same on all ranks that share the sequences: the position in its row at which the
  // document of each token begins. No token sees another document. Undefined: a row is one document.
  at::Tensor document_starts = {};
  bool causal = true;  // else a token sees those after it, too
  // Logits [Hq] of q's heads that take mass in the softmax, from kernels::sink_logits(); undefined: none.
  at::Tensor sinks = {};
  std::shared_ptr<const AttentionBias> bias = nullptr;  // of q's heads; null: none
};

class AttentionCore {
 public:
  virtual ~AttentionCore() = default;
  // Each of this rank's S tokens attends to itself and to the earlier tokens of the sequence, and unless the rule
  // is causal to the later ones, that are in the window. q [B, S, Hq, D], k [B, S, Hkv, D], v [B, S, Hkv, Dv] ->
  // [B, S, Hq, Dv]. Differentiable.
  virtual at::Tensor attend(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                            const AttentionRule& rule) const = 0;
  // Whether a rule may have a bias. Default: it may.
  virtual bool takes_bias() const { return true; }
};

// The rule's mask for whole sequences, and within it the keys of each token's document.
kernels::AttentionMask mask_of(const AttentionRule& rule);
kernels::VisibleKeys visible_keys(const AttentionRule& rule);
// The rule's bias of the scores of q to k, whose heads and first token stand at these places; none without one.
kernels::ScoreBias bias_of(const AttentionRule& rule, const at::Tensor& q, const at::Tensor& k,
                           std::int64_t first_head = 0, std::int64_t first_query = 0);

// For a rank that holds whole sequences.
class LocalAttention final : public AttentionCore {
 public:
  at::Tensor attend(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                    const AttentionRule& rule) const override;
};

}  // namespace d9d
