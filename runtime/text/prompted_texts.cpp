#include "runtime/text/prompted_texts.hpp"

#include <ATen/ops/scalar_tensor.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <utility>

#include "runtime/base/error.hpp"
#include "runtime/text/generating_part.hpp"

namespace d9d {

PromptedTexts::PromptedTexts(TextRequest request, int stages)
    : request_(std::move(request)), stages_(stages) {
  require_possible(request_.options);
  D9D_REQUIRE(!request_.prompts.empty() && request_.options.max_new_tokens > 0,
              "{} prompts and {} new tokens were asked for; ask for one of each at least",
              request_.prompts.size(), request_.options.max_new_tokens);
  for (const auto& prompt : request_.prompts)
    D9D_REQUIRE(!prompt.empty(), "a prompt has no tokens; give one at least");
  texts_.resize(request_.prompts.size());
}

// Prompt i is in microbatch i % count, so that their sizes differ by one at most.
std::vector<ForwardInputs> PromptedTexts::microbatches() const {
  const std::size_t prompts = request_.prompts.size();
  const auto count =
      static_cast<std::size_t>(microbatches_of_texts(static_cast<std::int64_t>(prompts), stages_));
  std::size_t room = 0;
  for (const auto& prompt : request_.prompts) room = std::max(room, prompt.size());
  std::vector<ForwardInputs> made(count);
  for (std::size_t i = 0; i < count; ++i) {
    const auto rows = static_cast<std::int64_t>((prompts - i + count - 1) / count);
    at::Tensor ids = at::zeros({rows, static_cast<std::int64_t>(room)}, at::kLong);
    at::Tensor lengths = at::zeros({rows}, at::kLong), numbers = at::zeros({rows}, at::kLong);
    for (std::int64_t row = 0; row < rows; ++row) {
      const std::size_t at = i + static_cast<std::size_t>(row) * count;
      const auto& prompt = request_.prompts[at];
      std::ranges::copy(prompt, ids[row].mutable_data_ptr<std::int64_t>());
      lengths[row] = static_cast<std::int64_t>(prompt.size());
      numbers[row] = static_cast<std::int64_t>(request_.first + at);
    }
    made[i].inputs["input_ids"] = ids;
    made[i].shared = {{"sample_numbers", numbers},
                      {"prompt_lengths", lengths},
                      {"prompt_room", at::scalar_tensor(static_cast<std::int64_t>(room), at::kLong)}};
    if (request_.options.repetition_penalty != 1) made[i].shared["prompts"] = ids;
    made[i].state["sample_numbers"] = numbers;
  }
  return made;
}

ForwardInputs PromptedTexts::build_forward_inputs(const MicrobatchContext& /*context*/) const {
  fail(ErrorKind::bug, "texts that an actor asks for have no data source", __FILE__, __LINE__);
}

std::shared_ptr<StageModule> PromptedTexts::running(std::shared_ptr<StageModule> stage,
                                                    StagePosition position) const {
  return std::make_shared<GeneratingPart>(std::move(stage), position, request_.options);
}

int PromptedTexts::passes() const {
  return static_cast<int>(request_.options.max_new_tokens);
}

void PromptedTexts::process_outputs(const InferenceContext& context) {
  const at::Tensor tokens =
      tensor_at(context.outputs, "tokens", "the last stage's output").cpu().contiguous();
  at::Tensor log_probs;
  if (request_.options.log_probs)
    log_probs = tensor_at(context.outputs, "log_probs", "the last stage's output").cpu().contiguous();
  for (std::int64_t row = 0; row < tokens.size(0); ++row) {
    const auto number = static_cast<std::uint64_t>(context.samples[static_cast<std::size_t>(row)]);
    WrittenText& text = texts_.at(number - request_.first);
    const auto* const ids = tokens[row].const_data_ptr<std::int64_t>();
    text.ids.assign(ids, std::find(ids, ids + tokens.size(1), -1));
    if (request_.options.log_probs) {
      const auto* const row_of = log_probs[row].const_data_ptr<float>();
      text.log_probs.assign(row_of, row_of + text.ids.size());
    }
    ++made_;
  }
}

Texts PromptedTexts::take() {
  return made_ == texts_.size() ? std::move(texts_) : Texts();
}

}  // namespace d9d
