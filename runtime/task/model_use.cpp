#include "runtime/task/model_use.hpp"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/full_like.h>
#include <ATen/ops/logsumexp.h>
#include <ATen/ops/tensor.h>

#include <algorithm>
#include <limits>

#include "runtime/base/error.hpp"
#include "runtime/data/sample_source.hpp"
#include "runtime/device/upload.hpp"
#include "runtime/family/position_limit.hpp"

namespace d9d {
namespace {

void check_ids(const at::Tensor& ids, const char* what, std::int64_t vocab_size, bool may_ignore) {
  D9D_REQUIRE(ids.dim() == 2 && ids.scalar_type() == at::kLong && ids.numel() > 0,
              "{} is a {} array of {} dimensions with {} elements, expected int64 [sequences, length]", what,
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

at::Tensor loss_from_logits(const at::Tensor& logits, const at::Tensor& labels) {
  const at::Tensor chosen = logits.gather(-1, labels.clamp_min(0).unsqueeze(-1)).squeeze(-1);
  return at::logsumexp(logits, at::IntArrayRef{-1}).sub(chosen).masked_fill(labels.eq(ignored_label), 0.0);
}

}  // namespace

Scores score_tokens(const LoadedModel& model, const at::Tensor& tokens,
                    const std::optional<at::Tensor>& labels, const ScoreOptions& options) {
  const at::NoGradGuard no_gradients;
  check_ids(tokens, "the tokens", model.config->vocab_size, false);
  require_positions(*model.config, tokens.size(1), "a sequence of the tokens", "give shorter ones");
  const at::Tensor targets = labels ? *labels : next_tokens(tokens);
  check_ids(targets, "the labels", model.config->vocab_size, true);
  D9D_REQUIRE(targets.sizes() == tokens.sizes(),
              "the labels are {} x {}, the tokens {} x {}; they must be alike", targets.size(0),
              targets.size(1), tokens.size(0), tokens.size(1));

  const auto parameters = model.stage->parameters();
  const Device& device = device_of(parameters.front().tensor.device());
  std::vector<at::Tensor> losses, logits;
  const std::int64_t rows = std::max<std::int64_t>(1, options.tokens_per_batch / tokens.size(1));
  for (std::int64_t row = 0; row < tokens.size(0); row += rows) {
    const std::int64_t count = std::min(rows, tokens.size(0) - row);
    const TensorMap inputs = {{"input_ids", upload(tokens.narrow(0, row, count), device)}};
    const at::Tensor target = targets.narrow(0, row, count).contiguous();
    if (options.with_logits) {
      logits.push_back(model.stage->forward(inputs, {}).at("logits").to(at::kCPU, at::kFloat));
      losses.push_back(loss_from_logits(logits.back(), target));
    } else {
      const TensorMap shared = {{"labels", upload(target, device)}};
      losses.push_back(model.stage->forward(inputs, shared).at("cross_entropy").cpu());
    }
  }
  Scores scores;
  scores.token_loss = at::cat(losses);
  const auto counted = targets.ne(ignored_label).sum().item<std::int64_t>();
  scores.loss = counted == 0
                    ? std::numeric_limits<double>::quiet_NaN()
                    : scores.token_loss.sum(at::kDouble).item<double>() / static_cast<double>(counted);
  if (options.with_logits) scores.logits = at::cat(logits);
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
