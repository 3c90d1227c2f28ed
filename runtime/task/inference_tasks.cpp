#include "runtime/task/inference_tasks.hpp"

#include <ATen/ops/max.h>
#include <ATen/ops/ne.h>
#include <ATen/ops/nonzero.h>
#include <ATen/ops/softmax.h>

#include "runtime/base/error.hpp"
#include "runtime/data/sample_source.hpp"
#include "runtime/task/causal_lm_task.hpp"
#include "runtime/task/classification_task.hpp"

namespace d9d {
namespace {

void require_rows(const InferenceContext& context, std::int64_t rows) {
  D9D_CHECK(static_cast<std::int64_t>(context.samples.size()) == rows, "{} samples in a microbatch of {}",
            context.samples.size(), rows);
}

}  // namespace

// As it trains; the labels go along to be counted.
ForwardInputs CausalLmInference::build_forward_inputs(const MicrobatchContext& context) const {
  ForwardInputs made = CausalLmTask().build_forward_inputs(context);
  made.state["labels"] = tensor_at(made.shared, "labels", "the batch");
  return made;
}

void CausalLmInference::process_outputs(const InferenceContext& context) {
  const at::Tensor losses = tensor_at(context.outputs, "cross_entropy", "the last stage's output").cpu();
  const at::Tensor counts = at::ne(tensor_at(context.state, "labels", "the task state").cpu(), ignored_label);
  require_rows(context, losses.size(0));
  for (std::int64_t row = 0; row < losses.size(0); ++row) {
    const std::int64_t sample = context.samples[static_cast<std::size_t>(row)];
    if (sample < 0) continue;
    const auto tokens = counts[row].sum().item<std::int64_t>();
    nlohmann::ordered_json loss;
    if (tokens > 0) loss = losses[row].sum().item().toDouble() / static_cast<double>(tokens);
    lines_.add(sample, {{"loss", loss}, {"tokens", tokens}});
  }
}

ForwardInputs ClassificationInference::build_forward_inputs(const MicrobatchContext& context) const {
  ForwardInputs made = ClassificationTask().build_forward_inputs(context);
  // Row and position of each logit.
  made.state["places"] = at::nonzero(at::ne(tensor_at(context.batch, "labels", "the batch"), ignored_label));
  return made;
}

void ClassificationInference::process_outputs(const InferenceContext& context) {
  const at::Tensor logits = tensor_at(context.outputs, "logits", "the last stage's output").cpu();
  const at::Tensor places = tensor_at(context.state, "places", "the task state").cpu();
  const auto [probability, chosen] = at::max(at::softmax(logits.to(at::kFloat), -1), -1);
  for (std::int64_t i = 0; i < places.size(0); ++i) {
    const std::int64_t sample =
        context.samples.at(static_cast<std::size_t>(places[i][0].item<std::int64_t>()));
    if (sample < 0) continue;
    lines_.add(sample, {{"position", places[i][1].item<std::int64_t>()},
                        {"class", chosen[i].item<std::int64_t>()},
                        {"probability", probability[i].item<float>()}});
  }
}

}  // namespace d9d
