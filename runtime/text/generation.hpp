#pragma once
// Texts by a model in one stage: several at once, each pass computes the new tokens of all of them and the
// logits of their last positions alone; what is needed of earlier tokens is in the model's cache. A text that
// has ended makes room for the next prompt.

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "runtime/nn/model/generating_stage.hpp"
#include "runtime/tensor/stage_module.hpp"
#include "runtime/text/generate_options.hpp"

namespace d9d {

// Whether a text ends after its last token, which it has.
bool ends_text(const GenerateOptions& options, std::span<const std::int64_t> text);
// Input error where the model cannot generate.
GeneratingStage& generating_stage(StageModule& model);

struct Prompt {
  std::uint64_t sample = 0;  // its number decides what is drawn
  std::vector<std::int64_t> ids;
};

class Generator {
 public:
  // Keeps a reference to the model. `room`: tokens of a prompt with its new tokens, at most. Input error
  // where the model cannot generate, or an option is impossible.
  Generator(StageModule& model, GenerateOptions options, std::int64_t room);
  // The new tokens of each prompt, in the order of the prompts, the end among them. On the calling thread and
  // torch's. Input error for an empty prompt or one without room.
  std::vector<std::vector<std::int64_t>> generate(const std::vector<Prompt>& prompts);

 private:
  struct Text {
    const Prompt* prompt;
    std::int64_t sequence;  // of the cache
    std::vector<std::int64_t>* made;
    std::size_t end = 0;  // after so many of them, where others wait for it to go on; 0: not yet

    std::int64_t length() const { return static_cast<std::int64_t>(prompt->ids.size() + made->size()); }
  };
  void advance();

  GeneratingStage& stage_;
  GenerateOptions options_;
  std::int64_t room_;
  std::unique_ptr<StageCache> cache_;
  std::vector<std::int64_t> free_;  // sequences of the cache
  std::vector<Text> texts_;         // under way
};

}  // namespace d9d
