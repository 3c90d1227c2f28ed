#include "runtime/task/causal_lm_task.hpp"

#include <ATen/ops/div.h>
#include <ATen/ops/mul.h>
#include <ATen/ops/ne.h>
#include <ATen/ops/sum.h>

#include "runtime/data/sample_source.hpp"
#include "runtime/metric/aggregation.hpp"
#include "runtime/task/token_inputs.hpp"

namespace d9d {
namespace {

std::string loss_of_depth(std::int64_t depth) {
  return "loss_of_depth_" + std::to_string(depth);
}

// A plugin's model may give losses of 16 bits.
at::Tensor sum_of(const at::Tensor& losses) {
  return at::sum(losses, losses.element_size() < 4 ? at::kFloat : losses.scalar_type());
}

// With several depths of prediction, or a balance loss, cross_entropy has more in it than the next token's.
void update_perplexity(const LossContext& context, std::int64_t counted, Perplexity& perplexity) {
  const auto depths = context.outputs.find("depth_losses");
  const at::Tensor sum = depths != context.outputs.end()
                             ? depths->second[0][0]
                             : sum_of(tensor_at(context.outputs, "cross_entropy", "the last stage's output"));
  const auto tokens = static_cast<double>(counted);
  if (counted > 0) perplexity.update(sum.item<double>() / tokens, tokens);
}

// What a part of the sequences weighs: its share of the labels of whole ones, where the batch says how many these are.
at::Tensor weight_of(const TensorMap& batch, const at::Tensor& labels, const at::Tensor& counted) {
  const auto whole = batch.find("whole_labels");
  if (whole == batch.end()) return counted.to(at::kDouble);
  return at::div(at::mul(whole->second[0].to(at::kDouble), labels.size(1)), whole->second[1]);
}

}  // namespace

ForwardInputs CausalLmTask::build_forward_inputs(const MicrobatchContext& context) const {
  ForwardInputs made = token_inputs(context.batch);
  const at::Tensor& labels = tensor_at(context.batch, "labels", "the batch");
  made.shared["labels"] = labels;
  for (const char* name : {"next_ids", "next_labels"}) {
    const auto found = context.batch.find(name);
    if (found != context.batch.end()) made.shared.insert(*found);
  }
  const at::Tensor counted = made.state["num_tokens"] = at::ne(labels, ignored_label).sum();
  made.state["loss_weight"] = weight_of(context.batch, labels, counted);
  return made;
}

Loss CausalLmTask::compute_loss(const LossContext& context) const {
  const at::Tensor& cross_entropy = tensor_at(context.outputs, "cross_entropy", "the last stage's output");
  const auto weight = tensor_at(context.state, "loss_weight", "the task state").item<double>();
  // The graph stays whole, because the backward runs for every microbatch.
  if (weight == 0) return {at::mul(at::sum(cross_entropy), 0), 0};
  return {at::div(sum_of(cross_entropy), weight), weight};
}

void CausalLmTask::create_metrics(Compose& metrics) const {
  metrics.add("num_tokens", std::make_unique<Accumulator>(ReduceOp::sum));
  metrics.add("perplexity", std::make_unique<Perplexity>());
  if (prediction_depths_ == 0) return;
  for (std::int64_t depth = 0; depth <= prediction_depths_; ++depth)
    metrics.add(loss_of_depth(depth), std::make_unique<WeightedMean>());
}

void CausalLmTask::update_metrics(const LossContext& context, Compose& metrics) const {
  const auto counted = tensor_at(context.state, "num_tokens", "the task state").item<std::int64_t>();
  metrics.get<Accumulator>("num_tokens").update(static_cast<double>(counted));
  update_perplexity(context, counted, metrics.get<Perplexity>("perplexity"));
  if (prediction_depths_ == 0) return;
  const auto losses = context.outputs.find("depth_losses");
  if (losses == context.outputs.end()) return;  // of an evaluation: its loss is the next token's alone
  const at::Tensor sums = losses->second.cpu();
  for (std::int64_t depth = 0; depth <= prediction_depths_; ++depth) {
    const auto tokens = static_cast<double>(sums[depth][1].item<float>());
    if (tokens == 0) continue;
    const double mean = static_cast<double>(sums[depth][0].item<float>()) / tokens;
    metrics.get<WeightedMean>(loss_of_depth(depth)).update(mean, tokens);
  }
}

}  // namespace d9d
