#include "runtime/task/token_task.hpp"

#include <ATen/ops/mul.h>
#include <ATen/ops/ne.h>
#include <ATen/ops/nonzero.h>
#include <ATen/ops/sum.h>

#include "runtime/data/sample_source.hpp"
#include "runtime/device/upload.hpp"
#include "runtime/task/token_inputs.hpp"

namespace d9d {
namespace {

struct CountedTokens {
  at::Tensor logits, labels;
};

CountedTokens counted_tokens(const LossContext& context) {
  const at::Tensor& all = tensor_at(context.outputs, "logits", "the last stage's output");
  const at::Tensor labels = tensor_at(context.state, "labels", "the task state").flatten();
  const at::Tensor counts = at::nonzero(at::ne(labels, ignored_label)).flatten();
  const Device& device = device_of(all.device());
  return {all.flatten(0, 1).index_select(0, upload(counts, device)),
          upload(labels.index_select(0, counts), device)};
}

}  // namespace

// The labels stay with the task: a built-in model that does not see them returns its logits.
ForwardInputs TokenTask::build_forward_inputs(const MicrobatchContext& context) const {
  ForwardInputs made = token_inputs(context.batch);
  made.state["labels"] = tensor_at(context.batch, "labels", "the batch");
  return made;
}

Loss TokenTask::compute_loss(const LossContext& context) const {
  const CountedTokens tokens = counted_tokens(context);
  const auto count = tokens.labels.numel();
  if (count == 0) return {at::mul(at::sum(tokens.logits), 0), 0};
  return {loss(tokens.logits, tokens.labels), static_cast<double>(count)};
}

void TokenTask::update_metrics(const LossContext& context, Compose& metrics) const {
  const CountedTokens tokens = counted_tokens(context);
  if (tokens.labels.numel() > 0) count(tokens.logits.detach(), tokens.labels, metrics);
}

}  // namespace d9d
