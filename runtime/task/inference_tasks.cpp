#include "runtime/task/inference_tasks.hpp"

#include <ATen/ops/div.h>
#include <ATen/ops/logsumexp.h>
#include <ATen/ops/max.h>
#include <ATen/ops/ne.h>
#include <ATen/ops/nonzero.h>
#include <ATen/ops/softmax.h>
#include <ATen/ops/sum.h>

#include "runtime/base/error.hpp"
#include "runtime/data/sample_source.hpp"
#include "runtime/task/causal_lm_task.hpp"
#include "runtime/task/classification_task.hpp"

namespace d9d {
namespace {

// logits fp32 [B, S, V], labels int64 [B, S] -> fp32 [B, S]
at::Tensor losses_of(const at::Tensor& logits, const at::Tensor& labels) {
  const at::Tensor chosen = logits.gather(-1, labels.clamp_min(0).unsqueeze(-1)).squeeze(-1);
  return at::logsumexp(logits, at::IntArrayRef{-1}).sub(chosen).masked_fill(labels.eq(ignored_label), 0.0);
}

}  // namespace

// As it trains; the labels go along to be counted. A stage that gets them makes losses, without them logits.
ForwardInputs CausalLmInference::build_forward_inputs(const MicrobatchContext& context) const {
  ForwardInputs made = CausalLmTask().build_forward_inputs(context);
  made.state["labels"] = tensor_at(made.shared, "labels", "the batch");
  if (more_.logits) made.shared.erase("labels");
  return made;
}

void CausalLmInference::process_outputs(const InferenceContext& context) {
  const at::Tensor labels = tensor_at(context.state, "labels", "the task state").cpu();
  const auto rows = static_cast<std::int64_t>(context.samples.size());
  at::Tensor logits, losses;
  if (more_.logits) {
    logits = tensor_at(context.outputs, "logits", "the last stage's output").to(at::kCPU, at::kFloat);
    losses = losses_of(logits, labels);
  } else {
    losses = tensor_at(context.outputs, "cross_entropy", "the last stage's output").cpu();
  }
  D9D_CHECK(losses.size(0) == rows, "{} samples in a microbatch of {}", rows, losses.size(0));
  const at::Tensor tokens = at::ne(labels, ignored_label).sum(1);
  ResultRows made{context.samples,
                  {{"loss", at::div(at::sum(losses, {1}, false, at::kDouble), tokens)}, {"tokens", tokens}}};
  if (more_.token_losses) made.columns.emplace_back("token_loss", losses.to(at::kFloat));
  if (more_.logits) made.columns.emplace_back("logits", logits);
  results_->add(made);
}

ForwardInputs ClassificationInference::build_forward_inputs(const MicrobatchContext& context) const {
  ForwardInputs made = ClassificationTask().build_forward_inputs(context);
  // Row and position of each logit.
  const at::Tensor& places = made.state["places"] =
      at::nonzero(at::ne(tensor_at(context.batch, "labels", "the batch"), ignored_label));
  const auto of_this_rank = context.batch.find("places_in_rows");
  if (of_this_rank != context.batch.end()) {
    at::Tensor positions = places.select(1, 1);
    positions.copy_(of_this_rank->second.index_select(0, positions));
  }
  return made;
}

void ClassificationInference::process_outputs(const InferenceContext& context) {
  const at::Tensor logits = tensor_at(context.outputs, "logits", "the last stage's output").cpu();
  const at::Tensor places = tensor_at(context.state, "places", "the task state").cpu();
  ResultRows made;
  for (std::int64_t i = 0; i < places.size(0); ++i)
    made.samples.push_back(context.samples.at(static_cast<std::size_t>(places[i][0].item<std::int64_t>())));
  made.columns = {{"position", places.select(1, 1)}};
  if (logits.size(-1) == 1) {  // of a regression
    made.columns.emplace_back("score", logits.squeeze(-1));
  } else {
    const auto [probability, chosen] = at::max(at::softmax(logits.to(at::kFloat), -1), -1);
    made.columns.emplace_back("class", chosen);
    made.columns.emplace_back("probability", probability);
  }
  results_->add(made);
}

}  // namespace d9d
