#pragma once
// Reads the documents of text files as token ids, in order.

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>

#include "runtime/data/config/text_data_config.hpp"
#include "runtime/data/file/row_place.hpp"
#include "runtime/data/source/text/token_recipe.hpp"
#include "runtime/tokenizer/tokenizer.hpp"

namespace d9d {

// Warns where a tokenizer puts a token before prompts and the texts of the data begin without it: `begin` is what does
// stand before them, the value of the key `key`.
void warn_of_no_begin(const Tokenizer& tokenizer, const char* key, std::string_view begin);

// Returns the id of `config.eos_token`; nothing if it names none. Input error: the tokenizer does
// not have the token.
std::optional<std::int32_t> eos_of(const TextDataConfig& config, const Tokenizer& tokenizer);

// Input error for the first id that is not below the model's vocabulary; it names the token,
// and by `where` the text. A tokenizer may have such ids (Gemma 3's, for images) as long as
// no text uses them.
void require_ids_below(std::span<const std::int32_t> ids, const Tokenizer& tokenizer,
                       const std::string& where, std::int64_t ids_below);

// Adds that check to `recipe` for every document. Returns `recipe` unchanged if the tokenizer has
// no such id. `tokenizer` must outlive the recipe.
TokenRecipe checked_recipe(TokenRecipe recipe, const Tokenizer& tokenizer,
                           std::optional<std::int64_t> ids_below);

struct TokenizedDocument {
  std::span<const std::int32_t> ids;  // with bos and eos token; they live only during the call
  std::uint64_t bytes_read = 0;       // of the files, up to about the end of this document
  RowPlace place = {};                // the name of the file lives only during the call
};
// Called in order and on the calling thread, while several threads tokenise (config.threads). Input
// errors name file and line.
using UseTokens = std::function<void(const TokenizedDocument& document)>;
void tokenize_documents(const TextDataConfig& config, const Tokenizer& tokenizer, const UseTokens& use);

}  // namespace d9d
