#include "runtime/text/generation_task.hpp"

#include <ATen/ops/arange.h>
#include <ATen/ops/eq.h>
#include <ATen/ops/full.h>
#include <ATen/ops/ge.h>
#include <ATen/ops/logical_not.h>
#include <ATen/ops/ne.h>
#include <ATen/ops/scalar_tensor.h>

#include "runtime/base/error.hpp"
#include "runtime/data/sample_source.hpp"
#include "runtime/task/metric_values.hpp"
#include "runtime/task/token_inputs.hpp"
#include "runtime/text/generating_model.hpp"
#include "runtime/text/generating_part.hpp"

namespace d9d {
namespace {

// Where rows say which document a token is of, a prompt is the first one; the others may only fill up.
at::Tensor first_documents(const at::Tensor& starts, const at::Tensor& labels) {
  const at::Tensor first = at::eq(starts, 0);
  D9D_REQUIRE(
      !at::ne(labels, ignored_label).logical_and(at::logical_not(first)).any().item<bool>(),
      "a sample has several documents, and a prompt is one; use data.source: prompts, or data.samples: "
      "document");
  return first.sum(1);
}

// Of rows [B, S] up to their last token that is not padding, int64 [B].
at::Tensor prompt_lengths(const TensorMap& batch, const std::optional<std::int64_t>& padding) {
  const at::Tensor& ids = tensor_at(batch, "input_ids", "the batch");
  const auto starts = batch.find("document_starts");
  if (!padding && starts != batch.end())
    return first_documents(starts->second, tensor_at(batch, "labels", "the batch"));
  if (!padding) return at::full({ids.size(0)}, ids.size(1), at::kLong);
  const at::Tensor places = at::arange(1, ids.size(1) + 1, at::kLong);
  return at::ne(ids, *padding).mul(places).amax(1);
}

}  // namespace

ForwardInputs GenerationTask::build_forward_inputs(const MicrobatchContext& context) const {
  const at::Tensor& ids = tensor_at(context.batch, "input_ids", "the batch");
  const at::Tensor lengths = prompt_lengths(context.batch, options_.padding_id);
  ForwardInputs made = token_inputs(context.batch);
  if (options_.tokenizer) made.state["prompts"] = ids;
  made.shared["prompt_lengths"] = made.state["prompt_lengths"] = lengths;
  made.shared["prompt_room"] = at::scalar_tensor(ids.size(1), at::kLong);
  if (options_.generate.repetition_penalty != 1) made.shared["prompts"] = ids;
  made.shared["sample_numbers"] = tensor_at(context.batch, "sample_numbers", "the batch");
  return made;
}

std::shared_ptr<StageModule> GenerationTask::running(std::shared_ptr<StageModule> stage,
                                                     StagePosition position) const {
  if (position.num_stages > 1)
    return std::make_shared<GeneratingPart>(std::move(stage), position, options_.generate);
  return std::make_shared<GeneratingModel>(std::move(stage), options_.generate);
}

void GenerationTask::process_outputs(const InferenceContext& context) {
  const at::Tensor tokens = tensor_at(context.outputs, "tokens", "the last stage's output").cpu();
  const at::Tensor lengths = tensor_at(context.state, "prompt_lengths", "the task state").cpu();
  D9D_CHECK(std::ssize(context.samples) == tokens.size(0), "{} samples in a microbatch of {}",
            context.samples.size(), tokens.size(0));
  const at::Tensor made = at::ge(tokens, 0).sum(1);  // -1 after the end of a text
  const auto longest = made.max().item<std::int64_t>();
  ResultRows rows{
      context.samples,
      {{"prompt_tokens", lengths}, {"new_tokens", made}, {"tokens", tokens.narrow(1, 0, longest)}}};
  if (options_.tokenizer && results_->takes_texts()) {
    const at::Tensor prompts = tensor_at(context.state, "prompts", "the task state").cpu();
    for (std::int64_t row = 0; row < tokens.size(0); ++row) {
      const auto first = [row](const at::Tensor& ids, const at::Tensor& count) {
        const auto wide = integers_of(ids[row].narrow(0, 0, count[row].item<std::int64_t>()));
        return std::vector<std::int32_t>(wide.begin(), wide.end());
      };
      std::string text = options_.tokenizer->decode_behind(first(prompts, lengths), first(tokens, made));
      rows.texts.push_back(options_.stops ? options_.stops->cut(std::move(text)) : std::move(text));
    }
  }
  results_->add(rows);
}

}  // namespace d9d
