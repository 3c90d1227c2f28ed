#include "runtime/task/generation_task.hpp"

#include <ATen/ops/arange.h>
#include <ATen/ops/full.h>
#include <ATen/ops/ne.h>

#include "runtime/base/error.hpp"
#include "runtime/task/generating_model.hpp"

namespace d9d {
namespace {

// Of rows [B, S] up to their last token that is not padding, int64 [B].
at::Tensor prompt_lengths(const at::Tensor& ids, const std::optional<std::int64_t>& padding) {
  if (!padding) return at::full({ids.size(0)}, ids.size(1), at::kLong);
  const at::Tensor places = at::arange(1, ids.size(1) + 1, at::kLong);
  return at::ne(ids, *padding).mul(places).amax(1);
}

}  // namespace

ForwardInputs GenerationTask::build_forward_inputs(const MicrobatchContext& context) const {
  const at::Tensor& ids = tensor_at(context.batch, "input_ids", "the batch");
  const at::Tensor lengths = prompt_lengths(ids, options_.padding_id);
  return {{{"input_ids", ids}},
          {{"prompt_lengths", lengths},
           {"sample_numbers", tensor_at(context.batch, "sample_numbers", "the batch")}},
          {{"prompt_lengths", lengths}}};
}

std::shared_ptr<StageModule> GenerationTask::running(std::shared_ptr<StageModule> stage) const {
  return std::make_shared<GeneratingModel>(std::move(stage), options_.generate);
}

void GenerationTask::process_outputs(const InferenceContext& context) {
  const at::Tensor tokens = tensor_at(context.outputs, "tokens", "the last stage's output");
  const at::Tensor lengths = tensor_at(context.state, "prompt_lengths", "the task state");
  D9D_CHECK(static_cast<std::int64_t>(context.samples.size()) == tokens.size(0),
            "{} samples in a microbatch of {}", context.samples.size(), tokens.size(0));
  for (std::int64_t row = 0; row < tokens.size(0); ++row) {
    const std::int64_t sample = context.samples[static_cast<std::size_t>(row)];
    if (sample < 0) continue;
    std::vector<std::int64_t> ids;
    for (std::int64_t i = 0; i < tokens.size(1) && tokens[row][i].item<std::int64_t>() >= 0; ++i)
      ids.push_back(tokens[row][i].item<std::int64_t>());
    nlohmann::ordered_json line{{"prompt_tokens", lengths[row].item<std::int64_t>()}, {"tokens", ids}};
    if (options_.tokenizer)
      line["text"] = options_.tokenizer->decode(std::vector<std::int32_t>(ids.begin(), ids.end()));
    lines_.add(sample, std::move(line));
  }
}

}  // namespace d9d
