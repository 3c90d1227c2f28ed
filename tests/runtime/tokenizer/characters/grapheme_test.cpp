#include "runtime/tokenizer/characters/grapheme.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace d9d {
namespace {

std::vector<std::string> graphemes_of(std::string_view text) {
  std::vector<std::string> out;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = grapheme_end(text, at);
    out.emplace_back(text.substr(at, end - at));
    at = end;
  }
  return out;
}

TEST(Grapheme, KeepsMarksJoinersAndFlagsTogether) {
  EXPECT_EQ(graphemes_of("e\u0301\u0300x"), (std::vector<std::string>{"e\u0301\u0300", "x"}));
  EXPECT_EQ(graphemes_of("👩‍💻🇩🇪🇫🇷"),
            (std::vector<std::string>{"👩‍💻", "🇩🇪", "🇫🇷"}));
  EXPECT_EQ(graphemes_of("\u1100\u1161\u11a8a"), (std::vector<std::string>{"\u1100\u1161\u11a8", "a"}));
}

TEST(Grapheme, OfAsciiIsOneCharacterOrALineEnd) {
  EXPECT_EQ(graphemes_of("ab\r\n\r\r"), (std::vector<std::string>{"a", "b", "\r\n", "\r", "\r"}));
}

}  // namespace
}  // namespace d9d
