#pragma once
// Cuts a word into the most probable tokens, by the probabilities of single tokens. Kudo,
// "Subword regularization", 2018, section 3.2 (Viterbi). An unknown character costs 10 more
// than the rarest token; consecutive ones become one unknown token or, with byte_fallback, the
// tokens of their bytes.

#include <array>
#include <optional>

#include "runtime/tokenizer/model/byte_trie.hpp"
#include "runtime/tokenizer/model/token_model.hpp"

namespace d9d {

class UnigramModel final : public TokenModel {
 public:
  explicit UnigramModel(const JsonSection& section);
  void encode(std::string_view word, ModelScratch& scratch, std::vector<std::int32_t>& ids) const override;

 private:
  void find_paths(std::string_view word, ModelScratch& scratch) const;
  void add_unknown(std::string_view text, std::vector<std::int32_t>& ids) const;

  std::vector<double> scores_;  // by id, natural logarithms
  ByteTrie trie_;
  double unknown_score_ = 0;
  std::optional<std::int32_t> unknown_;
  bool byte_fallback_ = false;                    // false too if a byte has no token
  std::array<std::int32_t, 256> fallback_ids_{};  // of <0x00> to <0xFF>
};

}  // namespace d9d
