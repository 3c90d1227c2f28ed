#include "runtime/text/stop_texts.hpp"

#include <gmock/gmock.h>

#include "runtime/base/error.hpp"
#include "tests/support/error_of.hpp"

namespace d9d {
namespace {

class StopTextsTest : public testing::Test {
 protected:
  std::vector<std::int64_t> ids_of(const std::string& text) const {
    const auto ids = tokenizer_.encode(text, false);
    return {ids.begin(), ids.end()};
  }
  const Tokenizer tokenizer_ = Tokenizer::from_file(D9D_SOURCE_DIR "/tests/golden/tokenizer/qwen.json");
};

TEST_F(StopTextsTest, AreTokensWhereTheyAreSpecialAndTextsElsewhere) {
  const StopTexts stops(tokenizer_, {"<|im_end|>", "the house"}, "--stop");

  EXPECT_THAT(stops.tokens(), testing::ElementsAre(781));
  EXPECT_TRUE(stops.has_texts());
  EXPECT_TRUE(stops.end(ids_of("And of the house")));
  EXPECT_TRUE(stops.end(ids_of("the houses"))) << "its last token may have more";
  EXPECT_FALSE(stops.end(ids_of("And of the")));
  EXPECT_EQ(stops.cut("in the houses of the house"), "in the house");
  EXPECT_EQ(stops.cut("nothing"), "nothing");
}

// As transformers' stop_strings: what a stop is made of does not count, only where its characters stand.
TEST_F(StopTextsTest, StandInsideLongerTokens) {
  const auto of = ids_of(" of"), bare = ids_of("of");
  ASSERT_EQ(of.size(), 1u);
  ASSERT_NE(of, bare);
  const StopTexts stops(tokenizer_, {"of", "o"}, "--stop");

  EXPECT_TRUE(stops.tokens().empty());
  EXPECT_TRUE(stops.end(of));
  EXPECT_TRUE(stops.end(ids_of("to")));
  EXPECT_EQ(stops.cut("the house of"), "the ho");
}

TEST_F(StopTextsTest, ThatAreEmptyAreRefused) {
  EXPECT_THAT(test::error_of(
                  [&] {
                    StopTexts(tokenizer_, {"a", ""}, "task.stop_texts");
                  },
                  ErrorKind::input),
              testing::HasSubstr("task.stop_texts is empty"));
}

}  // namespace
}  // namespace d9d
