#include "runtime/tokenizer/codec/span_finder.hpp"

#include <gtest/gtest.h>

namespace d9d {
namespace {

TEST(SpanFinder, GivesWholeCharactersOfTheText) {
  const std::string_view text = "a\u65E5b";
  SpanFinder finder(text);
  finder.enter(text.substr(1));

  const char* const part = text.data() + 1;
  EXPECT_EQ(finder.of_text(text.substr(4)), (TokenSpan{4, 5}));
  EXPECT_EQ(finder.of_normalized(part + 1, part + 1), (TokenSpan{1, 4})) << "a byte of three";
  EXPECT_EQ(finder.of_bytes(2, 2), (TokenSpan{1, 4})) << "of no byte";
}

TEST(SpanFinder, GoesBackThroughTheNormalizer) {
  const std::string_view text = "x a";
  const std::string_view made = "__A";
  SpanFinder finder(text);
  finder.enter(text.substr(1)) = {0, 0, 1};
  finder.normalized(made);

  EXPECT_EQ(finder.of_normalized(made.data(), made.data() + 1), (TokenSpan{1, 2}));
  EXPECT_EQ(finder.of_normalized(made.data() + 1, made.data() + 2), (TokenSpan{1, 3}));
}

}  // namespace
}  // namespace d9d
