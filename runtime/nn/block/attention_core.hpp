#pragma once
// How heads of one sequence mix their values: on this rank alone, or together with the ranks that hold the
// rest of the sequence (runtime/nn/plan/).

#include <ATen/core/Tensor.h>

namespace d9d {

class AttentionCore {
 public:
  virtual ~AttentionCore() = default;
  // Causal attention of this rank's tokens over all earlier ones of the sequence. q [B, S, Hq, D], k
  // [B, S, Hkv, D], v [B, S, Hkv, Dv] -> [B, S, Hq, Dv], S the tokens of this rank. Differentiable.
  virtual at::Tensor mix(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                         double scale) const = 0;
};

// The whole sequence is here.
class LocalAttention final : public AttentionCore {
 public:
  at::Tensor mix(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, double scale) const override;
};

}  // namespace d9d
