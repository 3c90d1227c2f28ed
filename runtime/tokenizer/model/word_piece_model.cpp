#include "runtime/tokenizer/model/word_piece_model.hpp"

#include <algorithm>

namespace d9d {
namespace {

std::vector<ByteTrie::Entry> tokens_with_prefix(const Vocabulary& vocabulary, const std::string& prefix) {
  std::vector<ByteTrie::Entry> entries;
  for (const auto& token : vocabulary.tokens()) {
    if (token && token->starts_with(prefix)) {
      entries.emplace_back(token->substr(prefix.size()), *vocabulary.id_of(*token));
    }
  }
  return entries;
}

std::int64_t characters_in(std::string_view text) {
  return std::ranges::count_if(text,
                               [](char byte) { return (static_cast<unsigned char>(byte) & 0xC0) != 0x80; });
}

}  // namespace

WordPieceModel::WordPieceModel(const JsonSection& section)
    : TokenModel(Vocabulary::from_json(section.at("vocab"))),
      unknown_(required_id(section, "unk_token", "[UNK]")),
      characters_max_(
          section.has("max_input_chars_per_word") ? section.at("max_input_chars_per_word").integer() : 100),
      beginnings_(tokens_with_prefix(vocabulary_, "")),
      continuations_(tokens_with_prefix(vocabulary_, section.has("continuing_subword_prefix")
                                                         ? section.text("continuing_subword_prefix")
                                                         : "##")) {}

void WordPieceModel::encode(std::string_view word, ModelScratch& scratch,
                            std::vector<std::int32_t>& ids) const {
  const std::size_t before = ids.size();
  const std::size_t begins_before = scratch.begins != nullptr ? scratch.begins->size() : 0;
  std::size_t at = characters_in(word) > characters_max_ ? std::string_view::npos : 0;
  while (at < word.size()) {
    std::size_t longest = 0;
    const ByteTrie& tokens = at == 0 ? beginnings_ : continuations_;
    tokens.for_each_prefix(word.substr(at), [&](std::size_t length, std::int32_t id) {
      if (longest == 0) ids.push_back(id);
      ids.back() = id;
      longest = length;
    });
    if (scratch.begins != nullptr && longest > 0) scratch.begins->push_back(static_cast<std::uint32_t>(at));
    at = longest == 0 ? std::string_view::npos : at + longest;
  }
  if (at != std::string_view::npos) return;
  ids.resize(before);
  ids.push_back(unknown_);
  if (scratch.begins == nullptr) return;
  scratch.begins->resize(begins_before);
  scratch.begins->push_back(0);
}

}  // namespace d9d
