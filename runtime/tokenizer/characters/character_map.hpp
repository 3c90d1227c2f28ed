#pragma once
// The normalizer Precompiled: what SentencePiece replaces characters by, in the form of its models: a double
// array (Aoe, "An efficient digital search algorithm", 1989) that leads from characters to places in a text
// of replacements, each ended by a zero byte. Immutable.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/tokenizer/codec/json_section.hpp"

namespace d9d {

class CharacterMap {
 public:
  // `precompiled_charsmap` of the section, in base64; input error for what is not such a map.
  static CharacterMap from_json(const JsonSection& section);

  // As the library, not as SentencePiece: a grapheme (Unicode annex 29) of less than six bytes is replaced
  // whole by what its shortest known beginning stands for; in the others each character is looked up alone.
  void apply(std::string_view text, std::string& out) const;

 private:
  explicit CharacterMap(std::string_view bytes, const std::string& where);
  std::optional<std::string_view> find(std::string_view unit) const;
  void replace_grapheme(std::string_view grapheme, std::string& out) const;

  std::vector<std::uint32_t> units_;
  std::string replacements_;
};

}  // namespace d9d
