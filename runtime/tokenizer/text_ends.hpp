#pragma once
// The special tokens at the two ends of a text, as the files of a tokenizer name them.

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "runtime/tokenizer/tokenizer.hpp"

namespace d9d {

// The tokens that the tokenizer puts before a prompt, as its file writes them ("<s>", "[CLS]"); usually one or none.
std::vector<std::string> begin_tokens_of(const Tokenizer& tokenizer);
// The id of the eos_token that tokenizer_config.json beside `file`, the tokenizer's, names. Input errors name a damaged
// file.
std::optional<std::int64_t> eos_id_of(const Tokenizer& tokenizer, const std::filesystem::path& file);

}  // namespace d9d
