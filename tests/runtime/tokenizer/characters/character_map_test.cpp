#include "runtime/tokenizer/characters/character_map.hpp"

#include <gmock/gmock.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "runtime/base/error.hpp"
#include "tests/support/error_of.hpp"

namespace d9d {
namespace {

using testing::HasSubstr;

// The map that a golden tokenizer holds, with the rules of its make_kinds.py.
nlohmann::json golden_map() {
  std::ifstream file(D9D_SOURCE_DIR "/tests/golden/tokenizer/unigram.json");
  return nlohmann::json::parse(file)["normalizer"]["normalizers"][0];
}

std::string mapped(std::string_view text) {
  const nlohmann::json section = golden_map();
  std::string out;
  CharacterMap::from_json({section, "normalizer"}).apply(text, out);
  return out;
}

std::string map_error(const std::string& map) {
  const nlohmann::json section = {{"precompiled_charsmap", map}};
  return test::error_of(
      [&] {
        std::string out;
        CharacterMap::from_json({section, "normalizer"}).apply("abc", out);
      },
      ErrorKind::input);
}

TEST(CharacterMap, ReplacesCharactersAndGraphemes) {
  EXPECT_EQ(mapped("\ufb01x\uff21\u00bd"), "fixA1/2");
  EXPECT_EQ(mapped("e\u0301 e"), "é e");
  EXPECT_EQ(mapped("plain"), "plain");
  EXPECT_EQ(mapped(""), "");
}

TEST(CharacterMap, TakesALineEndOfTwoCharactersForOne) {
  EXPECT_EQ(mapped("a\r\nb"), "a b");
  EXPECT_EQ(mapped("a\r\rb"), "a  b");
}

TEST(CharacterMap, ReplacesAShortGraphemeByWhatItsBeginningStandsFor) {
  // e, acute and grave are one grapheme of five bytes: what stands for its first two characters is all.
  EXPECT_EQ(mapped("e\u0301\u0300"), "é");
}

TEST(CharacterMap, RefusesADamagedMap) {
  EXPECT_THAT(map_error("x"), HasSubstr("normalizer.precompiled_charsmap is not base64"));
  EXPECT_THAT(map_error(""), HasSubstr("is not base64"));
  EXPECT_THAT(map_error("!!!!"), HasSubstr("is not base64"));
  EXPECT_THAT(map_error("AAA="), HasSubstr("is cut short"));
  EXPECT_THAT(map_error("/////w=="), HasSubstr("is damaged"));
  EXPECT_THAT(map_error("BAAAAAAAAAE="), HasSubstr("is damaged")) << "one unit, whose offset leads beyond it";
}

}  // namespace
}  // namespace d9d
