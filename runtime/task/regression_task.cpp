#include "runtime/task/regression_task.hpp"

#include <ATen/ops/masked_select.h>
#include <ATen/ops/mse_loss.h>
#include <ATen/ops/mul.h>
#include <ATen/ops/ne.h>
#include <ATen/ops/sub.h>
#include <ATen/ops/sum.h>

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

at::Tensor scores_of(const LossContext& context) {
  return tensor_at(context.outputs, "logits", "the last stage's output").squeeze(-1);
}

}  // namespace

ForwardInputs RegressionTask::build_forward_inputs(const MicrobatchContext& context) const {
  const at::Tensor& labels = tensor_at(context.batch, "labels", "the batch");
  const at::Tensor mask = at::ne(labels, ignored_label);
  const auto targets = context.batch.find("targets");
  ForwardInputs made = token_inputs(context.batch);
  made.shared["pooling_mask"] = mask.to(at::kLong);
  made.state["targets"] =
      at::masked_select(targets == context.batch.end() ? labels.to(at::kFloat) : targets->second, mask);
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
