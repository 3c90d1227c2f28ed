#pragma once
// The settings of a tokenizer in the other files of its Hugging Face folder: tokenizer_config.json
// (added_tokens_decoder and the names of special tokens; for a .model also add_bos_token,
// add_eos_token, legacy, add_prefix_space). If that file has no added_tokens_decoder,
// added_tokens.json and special_tokens_map.json are read too, as in transformers.

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "runtime/tokenizer/codec/added_tokens.hpp"

namespace d9d {

struct TokenSettings {
  struct Token {
    AddedToken token;
    bool has_id = false;  // false: the vocabulary's id, else the next free one
    std::string where;    // the file, for errors
  };
  std::vector<Token> tokens;  // those with an id first, by id
  // Tokens around a text, for a .model. A tokenizer.json defines them itself and ignores these two.
  bool adds_bos = false;
  bool adds_eos = false;
  std::optional<std::string> bos;
  std::optional<std::string> eos;
  std::optional<std::string> pad;
  std::optional<std::string> mask;
  bool legacy = false;  // .model: a text after a special token begins as a text of its own
  std::optional<bool> adds_prefix_space;

  // Everything that can change ids, for a digest; empty if nothing is set.
  std::string digest_text() const;
};

// Reads the settings in the folder of `file`, a tokenizer's. Only a tokenizer.json or a
// tokenizer.model has some. Input errors name the damaged file.
TokenSettings token_settings_beside(const std::filesystem::path& file);

// Joins `tokens`, the file's own, with those of `settings`. `id_of` is the file's id of a token,
// `token_at` its token of an id. Input error: both have an id for a token and the two differ; or
// the id is another token's, unless `renames`.
struct KnownTokens {
  std::vector<std::optional<std::string>> tokens;  // the file's, by id
  bool renames = false;
};
std::vector<AddedToken> with_settings(std::vector<AddedToken> own, const TokenSettings& settings,
                                      const KnownTokens& known);

}  // namespace d9d
