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

TEST_F(StopTextsTest, AreTokensWhereTheyAreOneAndTextsElsewhere) {
  const StopTexts stops(tokenizer_, {"<|im_end|>", "the house"}, "--stop");

  EXPECT_THAT(stops.tokens(), testing::ElementsAre(781));
  EXPECT_TRUE(stops.has_texts());
  EXPECT_TRUE(stops.end(ids_of("And of the house")));
  EXPECT_TRUE(stops.end(ids_of("the houses"))) << "its last token may have more";
  EXPECT_FALSE(stops.end(ids_of("And of the")));
  EXPECT_EQ(stops.cut("in the houses of the house"), "in the house");
  EXPECT_EQ(stops.cut("nothing"), "nothing");
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
