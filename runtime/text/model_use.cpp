#include "runtime/text/model_use.hpp"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/full_like.h>
#include <ATen/ops/tensor.h>

#include <algorithm>

#include "runtime/base/error.hpp"
#include "runtime/data/sample_source.hpp"
#include "runtime/device/upload.hpp"
#include "runtime/family/position_limit.hpp"
#include "runtime/task/inference_tasks.hpp"
#include "runtime/task/metric_values.hpp"
#include "runtime/task/result/result_tensors.hpp"

namespace d9d {
namespace {

void check_ids(const at::Tensor& ids, const char* what, std::int64_t vocab_size, bool may_ignore) {
  D9D_REQUIRE(ids.dim() == 2 && ids.scalar_type() == at::kLong && ids.numel() > 0,
              "{} is {} of {} dimensions with {} elements, expected integers [sequences, length]", what,
              c10::toString(ids.scalar_type()), ids.dim(), ids.numel());
  const at::Tensor flat = ids.contiguous();
  const auto* data = flat.const_data_ptr<std::int64_t>();
  for (std::int64_t i = 0; i < flat.numel(); ++i) {
    const bool fine = (data[i] >= 0 && data[i] < vocab_size) || (may_ignore && data[i] == ignored_label);
    D9D_REQUIRE(fine, "{} holds {} at sequence {}, position {}; the model's vocabulary has {} ids", what,
                data[i], i / ids.size(1), i % ids.size(1), vocab_size);
  }
}

at::Tensor next_tokens(const at::Tensor& tokens) {
  at::Tensor labels = at::full_like(tokens, ignored_label);
  if (tokens.size(1) > 1)
    labels.narrow(1, 0, tokens.size(1) - 1).copy_(tokens.narrow(1, 1, tokens.size(1) - 1));
  return labels;
}

// At most so many rows in each.
std::vector<TensorMap> batches_of(const at::Tensor& tokens, const at::Tensor& labels, std::int64_t rows_max) {
  const at::Tensor numbers = at::arange(tokens.size(0), at::kLong);
  std::vector<TensorMap> batches;
  for (std::int64_t row = 0; row < tokens.size(0); row += rows_max) {
    const std::int64_t rows = std::min(rows_max, tokens.size(0) - row);
    batches.push_back({{"input_ids", tokens.narrow(0, row, rows).contiguous()},
                       {"labels", labels.narrow(0, row, rows).contiguous()},
                       {"sample_numbers", numbers.narrow(0, row, rows)}});
  }
  return batches;
}

TensorMap uploaded(const TensorMap& tensors, const Device& device) {
  TensorMap there;
  for (const auto& [name, tensor] : tensors) there.emplace(name, upload(tensor, device));
  return there;
}

TensorMap on_host(const TensorMap& tensors) {
  TensorMap here;
  for (const auto& [name, tensor] : tensors) here.emplace(name, tensor.cpu());
  return here;
}

}  // namespace

void infer(const LoadedModel& model, InferenceTask& task, const std::vector<TensorMap>& batches) {
  const at::NoGradGuard no_gradients;
  const auto stage = task.running({std::shared_ptr<void>(), model.stage.get()}, {0, 1});
  const auto parameters = model.stage->parameters();
  const Device& device = device_of(parameters.front().tensor.device());
  int number = 0;
  for (const TensorMap& batch : batches) {
    const ForwardInputs made = task.build_forward_inputs({1, number, batch});
    const TensorMap outputs =
        on_host(stage->forward(uploaded(made.inputs, device), uploaded(made.shared, device)));
    task.process_outputs(
        {1, number, outputs, made.state, integers_of(tensor_at(batch, "sample_numbers", "the batch"))});
    ++number;
  }
  task.flush();
}

Scores score_tokens(const LoadedModel& model, const at::Tensor& tokens,
                    const std::optional<at::Tensor>& labels, const ScoreOptions& options) {
  check_ids(tokens, "the array of tokens", model.config->vocab_size, false);
  require_positions(*model.config, tokens.size(1), "a sequence of the tokens", "give shorter ones");
  D9D_REQUIRE(
      labels || model.config->causal,
      "tokens of this model see those after them (is_causal false), so that the loss of the next token says "
      "nothing; give labels (--labels), such as those of tokens that are masked out");
  const at::Tensor targets = labels ? *labels : next_tokens(tokens);
  check_ids(targets, "the array of labels", model.config->vocab_size, true);
  D9D_REQUIRE(targets.sizes() == tokens.sizes(),
              "the labels are {} x {}, the tokens {} x {}; they must be alike", targets.size(0),
              targets.size(1), tokens.size(0), tokens.size(1));

  const auto results = std::make_shared<ResultTensors>();
  CausalLmInference task(results, {.token_losses = true, .logits = options.with_logits});
  const std::int64_t rows = std::max<std::int64_t>(1, options.tokens_per_batch / tokens.size(1));
  infer(model, task, batches_of(tokens, targets, rows));
  const TensorMap made = results->take();
  Scores scores{.token_loss = made.at("token_loss")};
  scores.counted = made.at("tokens").sum().item<std::int64_t>();
  scores.loss = scores.token_loss.sum(at::kDouble).item<double>() / static_cast<double>(scores.counted);
  if (options.with_logits) scores.logits = made.at("logits");
  return scores;
}

std::vector<std::vector<std::int64_t>> generate(const LoadedModel& model,
                                                const std::vector<std::vector<std::int64_t>>& prompts,
                                                GenerateOptions options) {
  std::vector<Prompt> numbered;
  std::int64_t longest = 0;
  for (const auto& ids : prompts) {
    numbered.push_back({numbered.size(), ids});
    if (ids.empty()) continue;  // the generator says which
    check_ids(at::tensor(ids, at::kLong).unsqueeze(0), "the prompt", model.config->vocab_size, false);
    longest = std::max(longest, static_cast<std::int64_t>(ids.size()));
  }
  const std::int64_t room = longest + options.max_new_tokens;
  require_positions(*model.config, room, "the prompt with the new tokens", "ask for fewer of them");
  const auto& ends = model.config->eos_token_ids;
  options.ends.insert(options.ends.end(), ends.begin(), ends.end());
  options.sequences = std::min(options.sequences, std::max<std::int64_t>(1, std::ssize(prompts)));
  return Generator(*model.stage, options, room).generate(numbered);
}

}  // namespace d9d
