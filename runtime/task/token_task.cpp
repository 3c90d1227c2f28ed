#include "runtime/task/token_task.hpp"

#include <ATen/ops/mul.h>
#include <ATen/ops/ne.h>
#include <ATen/ops/nonzero.h>
#include <ATen/ops/sum.h>
#include <fmt/ranges.h>

#include "runtime/base/error.hpp"
#include "runtime/data/sample_source.hpp"
#include "runtime/device/upload.hpp"
#include "runtime/task/token_inputs.hpp"

namespace d9d {
namespace {

struct CountedTokens {
  at::Tensor logits, labels;
};

// Flattened tensors of other shapes would pair labels with the logits of other tokens.
void require_one_label_each(const at::Tensor& logits, const at::Tensor& labels) {
  D9D_REQUIRE(
      logits.dim() == 3 && labels.dim() == 2 && logits.size(0) == labels.size(0) &&
          logits.size(1) == labels.size(1),
      "the batch's labels have shape [{}] and the model's logits [{}], expected labels [batch, sequence] and "
      "logits [batch, sequence, vocabulary], a label for each token; mend the job's collation, which makes "
      "the labels (shifted by one, as many as ids, {} where a token has none), or its model_provider, which "
      "makes the logits",
      fmt::join(labels.sizes(), ", "), fmt::join(logits.sizes(), ", "), ignored_label);
}

CountedTokens counted_tokens(const LossContext& context) {
  const at::Tensor& all = tensor_at(context.outputs, "logits", "the last stage's output");
  const at::Tensor& given = tensor_at(context.state, "labels", "the task state");
  require_one_label_each(all, given);
  const at::Tensor labels = given.flatten();
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
