#include "runtime/task/regression_task.hpp"

#include <ATen/ops/masked_select.h>
#include <ATen/ops/mse_loss.h>
#include <ATen/ops/mul.h>
#include <ATen/ops/ne.h>
#include <ATen/ops/sub.h>
#include <ATen/ops/sum.h>
#include <fmt/ranges.h>

#include "runtime/base/error.hpp"
#include "runtime/data/sample_source.hpp"
#include "runtime/device/upload.hpp"
#include "runtime/metric/aggregation.hpp"
#include "runtime/task/token_inputs.hpp"

namespace d9d {
namespace {

constexpr const char* error_name = "mean_absolute_error";

const at::Tensor& targets_of(const LossContext& context) {
  return tensor_at(context.state, "targets", "the task state");
}

// As many as targets: the loss would spread others over each other.
at::Tensor scores_of(const LossContext& context) {
  const at::Tensor scores = tensor_at(context.outputs, "logits", "the last stage's output").squeeze(-1);
  const at::Tensor& targets = targets_of(context);
  D9D_REQUIRE(
      scores.sizes() == targets.sizes(),
      "the model gives scores of shape [{}] for {} targets, expected one for each; give it a head of one "
      "label (model_provider.head.num_labels: 1)",
      fmt::join(scores.sizes(), ", "), targets.numel());
  return scores;
}

// In the batch, or labels that are numbers. Beside the labels, which say where there is one.
at::Tensor targets_in(const TensorMap& batch, const at::Tensor& labels) {
  const auto found = batch.find("targets");
  if (found == batch.end()) return labels.to(at::kFloat);
  D9D_REQUIRE(
      found->second.sizes() == labels.sizes(),
      "the batch's targets have shape [{}] and its labels [{}], expected the same: a label that is not {} "
      "says that its place has a target; mend the job's collation",
      fmt::join(found->second.sizes(), ", "), fmt::join(labels.sizes(), ", "), ignored_label);
  return found->second;
}

}  // namespace

ForwardInputs RegressionTask::build_forward_inputs(const MicrobatchContext& context) const {
  const at::Tensor& labels = tensor_at(context.batch, "labels", "the batch");
  const at::Tensor mask = at::ne(labels, ignored_label);
  ForwardInputs made = token_inputs(context.batch);
  made.shared["pooling_mask"] = mask.to(at::kLong);
  made.state["targets"] = at::masked_select(targets_in(context.batch, labels), mask);
  return made;
}

Loss RegressionTask::compute_loss(const LossContext& context) const {
  const at::Tensor scores = scores_of(context);
  const at::Tensor& targets = targets_of(context);
  // The mean of nothing is NaN. The graph stays whole, because the backward runs for every microbatch.
  if (targets.numel() == 0) return {at::mul(at::sum(scores), 0), 0};
  return {at::mse_loss(scores, upload(targets, device_of(scores.device())).to(scores.scalar_type())),
          static_cast<double>(targets.numel())};
}

void RegressionTask::create_metrics(Compose& metrics) const {
  metrics.add(error_name, std::make_unique<WeightedMean>());
  metrics.add("num_labels", std::make_unique<Accumulator>(ReduceOp::sum));
}

void RegressionTask::update_metrics(const LossContext& context, Compose& metrics) const {
  const at::Tensor& targets = targets_of(context);
  const auto count = static_cast<double>(targets.numel());
  metrics.get<Accumulator>("num_labels").update(count);
  if (targets.numel() == 0) return;
  const at::Tensor apart = at::sub(scores_of(context).detach().cpu().to(at::kDouble), targets).abs();
  metrics.get<WeightedMean>(error_name).update(apart.sum().item<double>() / count, count);
}

}  // namespace d9d
