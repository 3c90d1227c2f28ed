#include "runtime/tokenizer/train/word_counts.hpp"

#include <gmock/gmock.h>

#include "runtime/base/error.hpp"
#include "tests/support/error_of.hpp"

namespace d9d {
namespace {

using testing::Pair;
using testing::UnorderedElementsAre;

TEST(WordCounts, AreOfWordsWithTheBlankInFrontOfThem) {
  WordCounts words;

  words.add("to be or not to be");

  EXPECT_THAT(words.counts(), UnorderedElementsAre(Pair("to", 1U), Pair(" be", 2U), Pair(" or", 1U),
                                                   Pair(" not", 1U), Pair(" to", 1U)));
  EXPECT_EQ(words.bytes(), 18U);
}

// Over line ends, " \n x" would be " \n" and " x", and "\n\n" one word.
TEST(WordCounts, CutLineByLine) {
  WordCounts words;

  words.add("a \n\n");
  words.add("\n x");

  EXPECT_THAT(words.counts(),
              UnorderedElementsAre(Pair("a", 1U), Pair(" \n", 1U), Pair("\n", 2U), Pair(" x", 1U)));
}

TEST(WordCounts, RefuseATextThatIsNoUtf8AndCountNothingOfIt) {
  WordCounts words;

  EXPECT_EQ(test::error_of([&] { words.add("caf\xe9 and more"); }, ErrorKind::input),
            "byte 3 of the text is no UTF-8; convert it, e.g. with iconv");
  EXPECT_TRUE(words.counts().empty());
}

}  // namespace
}  // namespace d9d
