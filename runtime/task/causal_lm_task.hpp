#pragma once
// The built-in task `causal_lm`: next-token prediction. Loss of a microbatch = mean cross entropy of its
// counted tokens, weight = their number, so the step's loss is the exact token mean over all ranks.

#include "runtime/task/task.hpp"

namespace d9d {

class CausalLmTask final : public TrainTask {
 public:
  ForwardInputs build_forward_inputs(const MicrobatchContext& context) const override;
  Loss compute_loss(const LossContext& context) const override;
  void create_metrics(Compose& metrics) const override;
  void update_metrics(const LossContext& context, Compose& metrics) const override;
};

}  // namespace d9d
