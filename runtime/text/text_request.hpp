#pragma once
// Prompts for the model that trains, and how it goes on with them. No torch.

#include <cstdint>
#include <vector>

#include "runtime/data/rollout_stream.hpp"
#include "runtime/text/generate_options.hpp"

namespace d9d {

struct TextRequest {
  std::vector<std::vector<std::int64_t>> prompts;  // each with a token at least
  GenerateOptions options;                         // sequences and in_step follow from the job
  std::uint64_t first = 0;  // the number of the first prompt, which decides what is drawn; the others follow
  // Each data replica has prompts of its own, as many as the others, and gets their texts. Otherwise all have the same,
  // and one of them gets the texts.
  bool of_replica = false;
};
using Texts = std::vector<WrittenText>;  // the new tokens of each prompt

}  // namespace d9d
