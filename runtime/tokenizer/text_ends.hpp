#pragma once
// The special tokens at the two ends of a text, as the files of a tokenizer name them.

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "runtime/tokenizer/tokenizer.hpp"

namespace d9d {

// The tokens that the tokenizer puts around a text, as its file writes them; usually one or none at each end.
struct TokensAround {
  std::vector<std::string> before;  // "<s>", "[CLS]"
  std::vector<std::string> after;   // "</s>", "[SEP]"
};
TokensAround tokens_around_text(const Tokenizer& tokenizer);
// The id of the eos_token that tokenizer_config.json beside `file`, the tokenizer's, names. Input errors name a damaged
// file.
std::optional<std::int64_t> eos_id_of(const Tokenizer& tokenizer, const std::filesystem::path& file);

}  // namespace d9d
