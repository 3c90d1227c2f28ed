#include "runtime/text/generation.hpp"

#include <ATen/ops/tensor.h>

#include <algorithm>
#include <utility>

#include "runtime/base/error.hpp"
#include "runtime/text/chosen_tokens.hpp"

namespace d9d {
namespace {

// Of prompts in one pass: bounds memory. One prompt is never cut.
constexpr std::int64_t prompt_tokens_max = 8192;

void require_room(const Prompt& prompt, const GenerateOptions& options, std::int64_t room) {
  D9D_REQUIRE(!prompt.ids.empty(), "prompt {} has no tokens; give at least one", prompt.sample);
  const auto length = static_cast<std::int64_t>(prompt.ids.size());
  D9D_REQUIRE(length + options.max_new_tokens <= room,
              "prompt {} has {} tokens: with {} new ones these are more than the {} that there is room for",
              prompt.sample, length, options.max_new_tokens, room);
}

}  // namespace

GeneratingStage& generating_stage(StageModule& model) {
  auto* const found = dynamic_cast<GeneratingStage*>(&model);
  D9D_REQUIRE(found != nullptr,
              "the model cannot generate: it keeps nothing of earlier tokens; implement GeneratingStage "
              "(runtime/nn/model/generating_stage.hpp) for it");
  return *found;
}

bool ends_text(const GenerateOptions& options, std::span<const std::int64_t> text) {
  return std::ranges::find(options.ends, text.back()) != options.ends.end() ||
         (options.ends_here && options.ends_here(text));
}

Generator::Generator(StageModule& model, GenerateOptions options, std::int64_t room)
    : stage_(generating_stage(model)), options_(std::move(options)), room_(room) {
  require_possible(options_);
  D9D_REQUIRE(options_.max_new_tokens > 0 && options_.sequences > 0,
              "max_new_tokens is {} and sequences {}; both are at least 1", options_.max_new_tokens,
              options_.sequences);
  cache_ = stage_.make_cache({options_.sequences, room});
  for (std::int64_t sequence = options_.sequences; sequence-- > 0;) free_.push_back(sequence);
}

std::vector<std::vector<std::int64_t>> Generator::generate(const std::vector<Prompt>& prompts) {
  D9D_CHECK(!options_.in_step || prompts.size() <= free_.size(), "{} prompts for {} sequences",
            prompts.size(), free_.size());
  for (const Prompt& prompt : prompts) require_room(prompt, options_, room_);
  std::vector<std::vector<std::int64_t>> made(prompts.size());
  std::size_t next = 0;
  while (next < prompts.size() || !texts_.empty()) {
    std::int64_t tokens = 0;
    while (next < prompts.size() && !free_.empty()) {
      tokens += static_cast<std::int64_t>(prompts[next].ids.size());
      if (tokens > prompt_tokens_max && !texts_.empty() && !options_.in_step) break;
      texts_.push_back({&prompts[next], free_.back(), &made[next]});
      free_.pop_back();
      ++next;
    }
    advance();
  }
  return made;
}

// One pass: a token more for each text.
void Generator::advance() {
  std::vector<std::int64_t> ids, last;
  NewTokens tokens;
  for (const Text& text : texts_) {
    const bool begins = text.made->empty();
    if (begins) {
      ids.insert(ids.end(), text.prompt->ids.begin(), text.prompt->ids.end());
    } else {
      ids.push_back(text.made->back());
    }
    const std::int64_t count = begins ? text.length() : 1;
    tokens.stretches.push_back({text.sequence, text.length() - count, count});
    last.push_back(static_cast<std::int64_t>(ids.size()) - 1);
  }
  const TensorMap outputs =
      stage_.extend({{"input_ids", at::tensor(ids, at::kLong).unsqueeze(0)}},
                    {{"logit_positions", at::tensor(last, at::kLong)}}, *cache_, tokens);
  std::vector<TokenPlace> places;
  for (const Text& text : texts_)
    places.push_back({text.prompt->sample, text.made->size(), text.prompt->ids, *text.made});
  const auto chosen = chosen_tokens(tensor_at(outputs, "logits", "the model's outputs")[0], places, options_);
  for (std::size_t i = 0; i < texts_.size(); ++i) texts_[i].made->push_back(chosen[i]);
  for (Text& text : texts_)
    if (text.end == 0 && ends_text(options_, *text.made)) text.end = text.made->size();
  std::erase_if(texts_, [this](const Text& text) {
    const bool full = static_cast<std::int64_t>(text.made->size()) == options_.max_new_tokens;
    if (!full && (options_.in_step || text.end == 0)) return false;
    if (text.end > 0) text.made->resize(text.end);
    free_.push_back(text.sequence);
    return true;
  });
}

}  // namespace d9d
