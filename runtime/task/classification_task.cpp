#include "runtime/task/classification_task.hpp"

#include <ATen/ops/argmax.h>
#include <ATen/ops/cross_entropy_loss.h>
#include <ATen/ops/eq.h>
#include <ATen/ops/masked_select.h>
#include <ATen/ops/mul.h>
#include <ATen/ops/ne.h>
#include <ATen/ops/sum.h>

#include "runtime/base/error.hpp"
#include "runtime/data/sample_source.hpp"
#include "runtime/device/upload.hpp"
#include "runtime/metric/aggregation.hpp"
#include "runtime/task/token_inputs.hpp"

namespace d9d {
namespace {

const at::Tensor& classes_of(const LossContext& context) {
  return tensor_at(context.state, "classes", "the task state");
}

}  // namespace

ForwardInputs ClassificationTask::build_forward_inputs(const MicrobatchContext& context) const {
  const at::Tensor& labels = tensor_at(context.batch, "labels", "the batch");
  const at::Tensor mask = at::ne(labels, ignored_label);
  ForwardInputs made = token_inputs(context.batch);
  made.shared["pooling_mask"] = mask.to(at::kLong);
  made.state["classes"] = at::masked_select(labels, mask);
  return made;
}

Loss ClassificationTask::compute_loss(const LossContext& context) const {
  const at::Tensor& logits = tensor_at(context.outputs, "logits", "the last stage's output");
  const at::Tensor& classes = classes_of(context);
  if (classes.numel() == 0) return {at::mul(at::sum(logits), 0), 0};
  D9D_REQUIRE(logits.size(-1) > 1,
              "classification, but the model gives one score for each label that is read, so the loss is 0 "
              "whatever it is; give it a score for each class, or a task of a plugin with another loss");
  const auto largest = classes.max().item<std::int64_t>();
  D9D_REQUIRE(
      largest < logits.size(-1),
      "a label is {}, but the model's head has {} labels; raise model_provider.head.num_labels, or mend "
      "the data",
      largest, logits.size(-1));
  const auto smallest = classes.min().item<std::int64_t>();
  D9D_REQUIRE(smallest >= 0, "a label is {}; labels count from 0, and {} stands for none: mend the data",
              smallest, ignored_label);
  const at::Tensor targets = upload(classes, device_of(logits.device()));
  const at::Tensor wide =
      logits.element_size() < 4 ? logits.to(at::kFloat) : logits;  // a plugin's may be narrow
  return {at::cross_entropy_loss(wide, targets), static_cast<double>(classes.numel())};
}

void ClassificationTask::create_metrics(Compose& metrics) const {
  metrics.add("accuracy", std::make_unique<WeightedMean>());
  metrics.add("num_labels", std::make_unique<Accumulator>(ReduceOp::sum));
}

void ClassificationTask::update_metrics(const LossContext& context, Compose& metrics) const {
  const at::Tensor& classes = classes_of(context);
  const auto count = static_cast<double>(classes.numel());
  metrics.get<Accumulator>("num_labels").update(count);
  if (classes.numel() == 0) return;
  const at::Tensor chosen =
      at::argmax(tensor_at(context.outputs, "logits", "the last stage's output"), -1).cpu();
  const auto right = static_cast<double>(at::sum(at::eq(chosen, classes)).item<std::int64_t>());
  metrics.get<WeightedMean>("accuracy").update(right / count, count);
}

}  // namespace d9d
