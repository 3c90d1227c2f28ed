#pragma once
// The normalizer Precompiled: replaces characters by the table of a SentencePiece model. The table
// is a double array (Aoe, "An efficient digital search algorithm", 1989) that leads from characters
// to offsets in a text of replacements, each ended by a zero byte. Immutable.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/tokenizer/codec/json_section.hpp"

namespace d9d {

class CharacterMap {
 public:
  // Reads `precompiled_charsmap` of the section, in base64. Input error: it holds no such table.
  static CharacterMap from_json(const JsonSection& section);

  // Follows the `tokenizers` library, not SentencePiece: a grapheme (Unicode annex 29) of less than
  // six bytes is replaced as a whole by the entry of its shortest known beginning. In longer
  // graphemes each character is looked up alone.
  void apply(std::string_view text, std::string& out) const;

 private:
  explicit CharacterMap(std::string_view bytes, const std::string& where);
  std::optional<std::string_view> find(std::string_view unit) const;
  void replace_grapheme(std::string_view grapheme, std::string& out) const;

  std::vector<std::uint32_t> units_;
  std::string replacements_;
};

}  // namespace d9d
