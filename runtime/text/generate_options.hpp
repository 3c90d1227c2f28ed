#pragma once
// How texts are made. No torch.

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "runtime/text/token_choice.hpp"

namespace d9d {

struct GenerateOptions : TokenChoice {
  std::int64_t max_new_tokens = 100;
  std::vector<std::int64_t> ends = {};  // tokens after which a text ends
  // Whether a text ends after its last token for another reason.
  std::function<bool(std::span<const std::int64_t> text)> ends_here = {};
  std::int64_t sequences = 8;  // at once
  // Ranks compute together, so that each has to make as many passes as the others: max_new_tokens for each
  // generate(), whose prompts are all computed at once.
  bool in_step = false;
  bool log_probs = false;  // say those of the chosen tokens, too, before top_k and top_p
};

}  // namespace d9d
