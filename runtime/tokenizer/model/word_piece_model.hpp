#pragma once
// Cuts a word greedily: the longest token that it begins with, then the longest one that continues
// from there, and so on. A word that cannot be cut to its end, or is too long, is one unknown
// token. Schuster and Nakajima, "Japanese and Korean voice search", 2012; tokens inside a word
// have a prefix (##).

#include "runtime/tokenizer/model/byte_trie.hpp"
#include "runtime/tokenizer/model/token_model.hpp"

namespace d9d {

class WordPieceModel final : public TokenModel {
 public:
  explicit WordPieceModel(const JsonSection& section);
  void encode(std::string_view word, ModelScratch& scratch, std::vector<std::int32_t>& ids) const override;

 private:
  std::int32_t unknown_ = 0;
  std::int64_t characters_max_ = 0;  // longer words are unknown
  ByteTrie beginnings_;
  ByteTrie continuations_;  // without their prefix
};

}  // namespace d9d
