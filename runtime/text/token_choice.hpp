#pragma once
// How the next token of a text is chosen from the logits of its last position. No torch.

#include <cstdint>
#include <span>

namespace d9d {

// The repetition penalty first (Keskar et al. 2019, arXiv 1909.05858, section 4.1), then the temperature, then the
// top_k most likely tokens, then of these the fewest whose probabilities add up to top_p (nucleus sampling, Holtzman et
// al. 2020, arXiv 1904.09751, section 3.1).
struct TokenChoice {
  double temperature = 1.0;  // 0: always the most likely token, of equal ones the first
  std::int64_t top_k = 0;    // 0: all
  double top_p = 1.0;        // 1: all
  // Of each token that prompt or text have already: a positive logit is divided by it, a negative one multiplied.
  double repetition_penalty = 1.0;  // 1: none
  std::uint64_t seed = 0;
};

// Input error that names the impossible value.
void require_possible(const TokenChoice& choice);

// In [0, 1): of seed, sample and position of the new token alone, so that a text is the same in any batch, on
// any mesh and after a resume.
double uniform_of(const TokenChoice& choice, std::uint64_t sample, std::uint64_t position);

// As transformers: in fp32, a token once however often it occurs. Ids are below logits.size().
void penalise(std::span<float> logits, std::span<const std::int64_t> prompt,
              std::span<const std::int64_t> made, double penalty);

// The index of a logit, of those that the penalty has left. `uniform` decides among tokens in the order of their ids.
std::int64_t choose_token(std::span<const float> logits, const TokenChoice& choice, double uniform);

// log softmax(logits / temperature) of a token, summed in double; without the choice's penalty, top_k and top_p. At the
// temperature 0, which leaves no choice, that of 1.
float log_prob_of(std::span<const float> logits, std::int64_t token, double temperature);

}  // namespace d9d
