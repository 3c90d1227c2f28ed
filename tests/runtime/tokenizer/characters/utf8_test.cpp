#include "runtime/tokenizer/characters/utf8.hpp"

#include <gtest/gtest.h>

#include "runtime/tokenizer/characters/byte_alphabet.hpp"
#include "runtime/tokenizer/characters/unicode_class.hpp"

namespace d9d {
namespace {

TEST(Utf8, ReadsBackEveryCodePoint) {
  for (char32_t value = 0; value < 0x110000; value = value == 0xD7FF ? 0xE000 : value + 1) {
    std::string text;
    append_utf8(text, value);
    ASSERT_EQ(first_invalid_utf8(text), text.size()) << static_cast<std::uint32_t>(value);
    ASSERT_TRUE(code_point_at(text, 0).value == value);
    ASSERT_EQ(code_point_at(text, 0).length, text.size());
    ASSERT_TRUE(code_point_before("x" + text, text.size() + 1).value == value);
  }
}

TEST(Utf8, FindsTheFirstBadByte) {
  EXPECT_EQ(first_invalid_utf8("plain text, longer than a word"), 30u);
  EXPECT_EQ(first_invalid_utf8("caf\xC3\xA9\xC3"), 5u);
  EXPECT_EQ(first_invalid_utf8("0123456789\xFF"), 10u);
  for (const char* bad :
       {"\x80", "\xC0\x80", "\xC1\xBF", "\xE0\x80\x80", "\xE0\x9F\xBF", "\xED\xA0\x80", "\xF0\x8F\xBF\xBF",
        "\xF4\x90\x80\x80", "\xF5\x80\x80\x80", "\xE2\x82", "\xF0\x9F\x99"}) {
    EXPECT_EQ(first_invalid_utf8(bad), 0u) << bad;
  }
}

TEST(Utf8, ReplacesEveryMaximalBadPartByOneCharacter) {
  const std::string replaced = "\uFFFD";

  EXPECT_EQ(to_valid_utf8("a\xF0\x9F\x99z"), "a" + replaced + "z");
  EXPECT_EQ(to_valid_utf8("\xE0\x80\x80"), replaced + replaced + replaced);
  EXPECT_EQ(to_valid_utf8("\xE2\x82\xAC\xE2\x82"), "\u20AC" + replaced);
  EXPECT_EQ(to_valid_utf8(""), "");
}

TEST(ByteAlphabet, GivesEveryByteItsOwnCharacterAndBack) {
  std::string token, bytes;
  for (int byte = 0; byte < 256; ++byte) {
    append_utf8(token, byte_character(static_cast<std::uint8_t>(byte)));
    bytes.push_back(static_cast<char>(byte));
  }

  EXPECT_EQ(bytes_of_token(token), bytes);
  EXPECT_EQ(bytes_of_token("\u0120a"), " a");
  EXPECT_EQ(bytes_of_token("a b"), std::nullopt);
  EXPECT_EQ(bytes_of_token("\u4F60"), std::nullopt);
}

TEST(WhiteSpace, IsMeasuredAtBothEndsOfAText) {
  EXPECT_EQ(leading_white_space(" \t\u3000a "), 5u);
  EXPECT_EQ(trailing_white_space("a\u00a0\n"), 3u);
  EXPECT_EQ(leading_white_space(" \n"), 2u);
  EXPECT_EQ(trailing_white_space(""), 0u);
}

}  // namespace
}  // namespace d9d
