#pragma once
// The built-in task `causal_lm`: next-token prediction. Loss of a microbatch = mean cross entropy of its
// counted tokens, weight = their number, so the step's loss is the exact token mean over all ranks. Where the model
// predicts further tokens, ranks that share sequences have equal weights, the sum of which is that number (whole_labels
// of next_tokens.hpp): a rank's part may have further losses without a counted token.

#include "runtime/task/task.hpp"

namespace d9d {

class CausalLmTask final : public TrainTask {
 public:
  // `prediction_depths`: modules of multi-token prediction of the model. Their losses are part of its output.
  // Each is a metric, too: loss_of_depth_K, the mean over its tokens; that of the next token is of depth 0.
  explicit CausalLmTask(std::int64_t prediction_depths = 0) : prediction_depths_(prediction_depths) {}

  ForwardInputs build_forward_inputs(const MicrobatchContext& context) const override;
  Loss compute_loss(const LossContext& context) const override;
  void create_metrics(Compose& metrics) const override;
  void update_metrics(const LossContext& context, Compose& metrics) const override;

 private:
  std::int64_t prediction_depths_;
};

}  // namespace d9d
