#include "runtime/text/chosen_tokens.hpp"

#include <ATen/Parallel.h>

#include <algorithm>
#include <cmath>

#include "runtime/base/error.hpp"

namespace d9d {

std::vector<std::int64_t> chosen_tokens(const at::Tensor& logits, const std::vector<TokenPlace>& places,
                                        const TokenChoice& choice, std::vector<float>* log_probs) {
  D9D_CHECK(logits.dim() == 2 && logits.size(0) == std::ssize(places), "{} rows of logits for {} texts",
            logits.size(0), places.size());
  const at::Tensor dense = logits.to(at::kCPU, at::kFloat).contiguous();
  const auto words = static_cast<std::size_t>(dense.size(1));
  std::vector<std::int64_t> chosen(places.size());
  if (log_probs) log_probs->resize(places.size());
  at::parallel_for(0, std::ssize(places), 1, [&](std::int64_t begin, std::int64_t end) {
    for (auto i = static_cast<std::size_t>(begin); i < static_cast<std::size_t>(end); ++i) {
      const float* const row = dense.const_data_ptr<float>() + i * words;
      D9D_REQUIRE(
          std::none_of(row, row + words, [](float logit) { return std::isnan(logit); }),
          "the model's logits for token {} of text {} are no numbers (NaN): no token can be chosen; are its "
          "weights whole?",
          places[i].position, places[i].sample);
      const double uniform = uniform_of(choice, places[i].sample, places[i].position);
      if (choice.repetition_penalty == 1) {
        chosen[i] = choose_token({row, words}, choice, uniform);
      } else {
        std::vector<float> penalised(row, row + words);
        penalise(penalised, places[i].prompt, places[i].made, choice.repetition_penalty);
        chosen[i] = choose_token(penalised, choice, uniform);
      }
      if (log_probs) (*log_probs)[i] = log_prob_of({row, words}, chosen[i], choice.temperature);
    }
  });
  return chosen;
}

}  // namespace d9d
