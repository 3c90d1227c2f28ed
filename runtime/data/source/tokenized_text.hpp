#pragma once
// The documents of files of text as token ids, in order.

#include <functional>
#include <span>

#include "runtime/data/row_place.hpp"
#include "runtime/data/text_data_config.hpp"
#include "runtime/data/tokenizer.hpp"

namespace d9d {

// The id of `config.eos_token`; none where it names none.
// Input error for a token that the tokenizer does not have.
std::optional<std::int32_t> eos_of(const TextDataConfig& config, const Tokenizer& tokenizer);

// Input error for a tokenizer (`path`) with ids that are not below the model's vocabulary, if it is known.
void require_ids_below(const Tokenizer& tokenizer, const std::string& path,
                       std::optional<std::int64_t> ids_below);

struct TokenizedDocument {
  std::span<const std::int32_t> ids;  // the eos token last; they live only during the call
  std::uint64_t bytes_read = 0;       // of the files, it and those before it
  RowPlace place = {};                // its file's name lives during the call
};
// Called in order and by this thread. Several threads tokenise (config.threads). Input errors name file and line.
using UseTokens = std::function<void(const TokenizedDocument& document)>;
void tokenize_documents(const TextDataConfig& config, const Tokenizer& tokenizer, const UseTokens& use);

}  // namespace d9d
