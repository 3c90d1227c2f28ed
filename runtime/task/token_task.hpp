#pragma once
// The base of a plugin's task for models that give logits of tokens. The task computes the loss of the tokens that
// count, and may count more of them. The labels of a batch are [B, S] where the logits are [B, S, V], else an input
// error. Inputs, positions, documents and the weight of a microbatch are those of causal_lm.

#include "runtime/task/task.hpp"

namespace d9d {

class TokenTask : public TrainTask {
 public:
  ForwardInputs build_forward_inputs(const MicrobatchContext& context) const override;
  Loss compute_loss(const LossContext& context) const final;
  void update_metrics(const LossContext& context, Compose& metrics) const final;

 protected:
  // Of the tokens of a microbatch whose labels are not -100: logits [N, V] in the model's dtype, labels int64 [N], N >=
  // 1. loss: their mean, a differentiable scalar.
  virtual at::Tensor loss(const at::Tensor& logits, const at::Tensor& labels) const = 0;
  // After the loss; logits without gradients.
  virtual void count(const at::Tensor& /*logits*/, const at::Tensor& /*labels*/, Compose& /*metrics*/) const {
  }
};

}  // namespace d9d
