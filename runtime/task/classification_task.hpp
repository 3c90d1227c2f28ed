#pragma once
// The built-in task `classification`, for a model with `head: {kind: classification}` of two labels or more (of one:
// scores/regression_task.hpp). `labels` of the data hold
// a class from 0 on at the tokens that the head reads (the last token of a text, or every token of a tagger)
// and -100 elsewhere. Loss of a microbatch = mean cross entropy of the classes, weight = their number, so the
// step's loss is the exact mean over all ranks. Metrics: accuracy, num_labels.

#include "runtime/task/task.hpp"

namespace d9d {

class ClassificationTask final : public TrainTask {
 public:
  ForwardInputs build_forward_inputs(const MicrobatchContext& context) const override;
  Loss compute_loss(const LossContext& context) const override;
  void create_metrics(Compose& metrics) const override;
  void update_metrics(const LossContext& context, Compose& metrics) const override;
};

}  // namespace d9d
