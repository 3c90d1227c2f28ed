#pragma once
// A word is a token or unknown.

#include "runtime/tokenizer/model/token_model.hpp"

namespace d9d {

class WordLevelModel final : public TokenModel {
 public:
  explicit WordLevelModel(const JsonSection& section)
      : TokenModel(Vocabulary::from_json(section.at("vocab"))),
        unknown_(required_id(section, "unk_token", "<unk>")) {}

  void encode(std::string_view word, ModelScratch& scratch, std::vector<std::int32_t>& ids) const override {
    if (scratch.begins != nullptr) scratch.begins->push_back(0);
    ids.push_back(vocabulary_.id_of(word).value_or(unknown_));
  }

 private:
  const std::int32_t unknown_;
};

}  // namespace d9d
