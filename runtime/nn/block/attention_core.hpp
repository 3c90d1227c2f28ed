#pragma once
// Attention between the tokens of a sequence: on this rank alone, or together with the ranks that hold the
// other tokens of the sequence (runtime/nn/plan/).

#include <ATen/core/Tensor.h>

namespace d9d {

class AttentionCore {
 public:
  virtual ~AttentionCore() = default;
  // Causal attention: each of this rank's S tokens attends to itself and all earlier ones of the sequence.
  // q [B, S, Hq, D], k [B, S, Hkv, D], v [B, S, Hkv, Dv] -> [B, S, Hq, Dv]. Differentiable.
  virtual at::Tensor attend(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                            double scale) const = 0;
};

// For a rank that holds whole sequences.
class LocalAttention final : public AttentionCore {
 public:
  at::Tensor attend(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                    double scale) const override;
};

}  // namespace d9d
