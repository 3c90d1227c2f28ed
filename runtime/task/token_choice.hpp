#pragma once
// How the next token of a text is chosen from the logits of its last position. No torch.

#include <cstdint>
#include <span>

namespace d9d {

// Temperature first, then the top_k most likely tokens, then of these the fewest whose probabilities add up
// to top_p (nucleus sampling, Holtzman et al. 2020, arXiv 1904.09751, section 3.1).
struct TokenChoice {
  double temperature = 1.0;  // 0: always the most likely token, of equal ones the first
  std::int64_t top_k = 0;    // 0: all
  double top_p = 1.0;        // 1: all
  std::uint64_t seed = 0;
};

// Input error that names the impossible value.
void require_possible(const TokenChoice& choice);

// In [0, 1): of seed, sample and position of the new token alone, so that a text is the same in any batch, on
// any mesh and after a resume.
double uniform_of(const TokenChoice& choice, std::uint64_t sample, std::uint64_t position);

// The index of a logit. `uniform` decides among the tokens in the order of their ids.
std::int64_t choose_token(std::span<const float> logits, const TokenChoice& choice, double uniform);

}  // namespace d9d
