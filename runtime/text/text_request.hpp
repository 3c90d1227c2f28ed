#pragma once
// Prompts for the model that trains, and how it goes on with them. No torch.

#include <cstdint>
#include <vector>

#include "runtime/text/generate_options.hpp"

namespace d9d {

struct TextRequest {
  std::vector<std::vector<std::int64_t>> prompts;  // each with a token at least
  GenerateOptions options;                         // sequences and in_step follow from the job
};
using Texts = std::vector<std::vector<std::int64_t>>;  // the new tokens of each prompt

}  // namespace d9d
