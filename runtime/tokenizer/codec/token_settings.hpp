#pragma once
// What a Hugging Face folder says of a tokenizer beside its file: tokenizer_config.json (added_tokens_decoder and the
// names of special tokens; of a .model add_bos_token, add_eos_token, legacy, add_prefix_space), and where that has no
// added_tokens_decoder also added_tokens.json and special_tokens_map.json, as transformers reads them.

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "runtime/tokenizer/codec/added_tokens.hpp"

namespace d9d {

struct TokenSettings {
  struct Token {
    AddedToken token;
    bool has_id = false;  // otherwise that of the vocabulary, or the next one
    std::string where;    // the file, for errors
  };
  std::vector<Token> tokens;  // those with an id first, by id
  // Of a .model: what stands around a text. A tokenizer.json says it itself, and these are not looked at.
  bool adds_bos = false;
  bool adds_eos = false;
  std::optional<std::string> bos;
  std::optional<std::string> eos;
  std::optional<std::string> pad;
  bool legacy = false;  // of a .model: each text between special tokens begins as a text of its own
  std::optional<bool> adds_prefix_space;

  // All of it that can change ids; empty where nothing is said.
  std::string digest_text() const;
};

// `file` is the tokenizer's; only what stands beside a tokenizer.json or a tokenizer.model belongs to it. Input errors
// name the file that is damaged.
TokenSettings token_settings_beside(const std::filesystem::path& file);

// `tokens` (the file's own) and those of `settings`. `id_of` is the file's id of a token, `token_at` its token of an
// id. Input error where both say an id and differ, and where an id is another token's, unless `renames`.
struct KnownTokens {
  std::vector<std::optional<std::string>> tokens;  // of the file, by id
  bool renames = false;
};
std::vector<AddedToken> with_settings(std::vector<AddedToken> own, const TokenSettings& settings,
                                      const KnownTokens& known);

}  // namespace d9d
