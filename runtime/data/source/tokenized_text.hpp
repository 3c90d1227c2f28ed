#pragma once
// The documents of files of text as token ids, in order.

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>

#include "runtime/data/config/text_data_config.hpp"
#include "runtime/data/file/row_place.hpp"
#include "runtime/data/source/token_recipe.hpp"
#include "runtime/tokenizer/tokenizer.hpp"

namespace d9d {

// The id of `config.eos_token`; none where it names none.
// Input error for a token that the tokenizer does not have.
std::optional<std::int32_t> eos_of(const TextDataConfig& config, const Tokenizer& tokenizer);

// Input error for the first id that is not below the model's vocabulary; it names the token and `where` the text is. A tokenizer may have such ids (Gemma 3's, for images) as long as no text uses them.
void require_ids_below(std::span<const std::int32_t> ids, const Tokenizer& tokenizer,
                       const std::string& where, std::int64_t ids_below);

// `recipe` with that check of every document; as it is where the tokenizer has no such id. `tokenizer` outlives it.
TokenRecipe checked_recipe(TokenRecipe recipe, const Tokenizer& tokenizer,
                           std::optional<std::int64_t> ids_below);

struct TokenizedDocument {
  std::span<const std::int32_t>
      ids;                       // the bos token first, the eos token last; they live only during the call
  std::uint64_t bytes_read = 0;  // of the files, it and those before it
  RowPlace place = {};           // its file's name lives during the call
};
// Called in order and by this thread. Several threads tokenise (config.threads). Input errors name file and line.
using UseTokens = std::function<void(const TokenizedDocument& document)>;
void tokenize_documents(const TextDataConfig& config, const Tokenizer& tokenizer, const UseTokens& use);

}  // namespace d9d
