#include "runtime/text/generation_task.hpp"

#include <ATen/ops/arange.h>
#include <ATen/ops/argsort.h>
#include <ATen/ops/eq.h>
#include <ATen/ops/ge.h>
#include <ATen/ops/le.h>
#include <ATen/ops/logical_not.h>
#include <ATen/ops/ne.h>
#include <ATen/ops/ones.h>
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
at::Tensor is_first_document(const at::Tensor& starts, const TensorMap& batch) {
  const at::Tensor first = at::eq(starts, 0);
  D9D_REQUIRE(
      !at::ne(tensor_at(batch, "labels", "the batch"), ignored_label)
           .logical_and(at::logical_not(first))
           .any()
           .item<bool>(),
      "a sample has several documents, and a prompt is one; use data.source: prompts, or data.samples: "
      "document");
  return first;
}

// The tokens up to the last one that counts and is no padding.
at::Tensor before_padding(const at::Tensor& ids, const at::Tensor& counts, std::int64_t padding) {
  const at::Tensor places = at::arange(1, ids.size(1) + 1, at::kLong);
  const at::Tensor last = at::ne(ids, padding).logical_and(counts).mul(places).amax(1, /*keepdim=*/true);
  return at::le(places, last).logical_and(counts);
}

struct Prompts {
  at::Tensor ids;      // int64 [B, S], each from the begin of its row
  at::Tensor lengths;  // int64 [B], at least 1
};

// What fills a sample up is not of its prompt, wherever it stands and whoever says so: the source, a mask, padding_id.
Prompts prompts_in(const TensorMap& batch, const std::optional<std::int64_t>& padding) {
  Prompts prompts{tensor_at(batch, "input_ids", "the batch"), {}};
  at::Tensor counts = at::ones(prompts.ids.sizes(), at::kBool);
  if (const auto starts = batch.find("document_starts"); starts != batch.end())
    counts = is_first_document(starts->second, batch);
  const auto mask = batch.find("token_mask");
  if (mask != batch.end()) {
    counts = counts.logical_and(mask->second);
    const at::Tensor order = at::argsort(at::logical_not(counts), /*stable=*/true, 1, /*descending=*/false);
    prompts.ids = prompts.ids.gather(1, order);
    counts = counts.gather(1, order);
  }
  if (padding) counts = before_padding(prompts.ids, counts, *padding);
  prompts.lengths = counts.sum(1);
  const at::Tensor empty = at::eq(prompts.lengths, 0);
  D9D_REQUIRE(
      !empty.logical_and(at::ge(tensor_at(batch, "sample_numbers", "the batch"), 0)).any().item<bool>(),
      "a sample is all padding, and a prompt needs a token; leave such samples out");
  prompts.lengths = prompts.lengths.clamp_min(1);  // of rows that stand for no sample
  return prompts;
}

}  // namespace

ForwardInputs GenerationTask::build_forward_inputs(const MicrobatchContext& context) const {
  const auto [ids, lengths] = prompts_in(context.batch, options_.padding_id);
  ForwardInputs made = token_inputs(context.batch);
  made.inputs["input_ids"] = ids;
  made.shared.erase("token_mask");  // the lengths say it
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
