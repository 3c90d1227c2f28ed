#pragma once
// The task `classification` of a model whose head has one label: a regression, as in transformers. The head's one score
// learns the number that the data holds at the token that it reads: `targets` float32 [B, S] of the batch where it has
// them (data.targets), else `labels`, whose numbers are then no classes. Loss of a microbatch = mean squared error,
// weight = how many numbers, so the step's loss is the exact mean over all ranks. Metrics:
// mean_absolute_error, num_labels.

#include "runtime/task/task.hpp"

namespace d9d {

class RegressionTask final : public TrainTask {
 public:
  ForwardInputs build_forward_inputs(const MicrobatchContext& context) const override;
  Loss compute_loss(const LossContext& context) const override;
  void create_metrics(Compose& metrics) const override;
  void update_metrics(const LossContext& context, Compose& metrics) const override;
};

}  // namespace d9d
