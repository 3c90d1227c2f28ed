#pragma once
// The next tokens of several texts from the logits of their last positions.

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <span>
#include <vector>

#include "runtime/text/token_choice.hpp"

namespace d9d {

// Where a new token stands; that decides what is drawn.
struct TokenPlace {
  std::uint64_t sample = 0;
  std::uint64_t position = 0;  // among the text's new tokens
  // Those before it; only where there is a repetition penalty. Live during the call.
  std::span<const std::int64_t> prompt = {}, made = {};
};

// logits [R, V], a row for each place. On the calling thread and torch's. `log_probs`: gets one for each place.
std::vector<std::int64_t> chosen_tokens(const at::Tensor& logits, const std::vector<TokenPlace>& places,
                                        const TokenChoice& choice, std::vector<float>* log_probs = nullptr);

}  // namespace d9d
