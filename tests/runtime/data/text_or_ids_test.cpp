#include "runtime/data/text_or_ids.hpp"

#include <gmock/gmock.h>

#include "tests/support/error_of.hpp"

namespace d9d {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(TextOrIds, WithoutATokenizerIsIds) {
  const TextOrIds texts{std::nullopt};

  EXPECT_THAT(texts.ids_of("5 9  2"), ElementsAre(5, 9, 2));
  EXPECT_EQ(texts.text_behind({7}, {5, 9, 2}), "5 9 2");
  EXPECT_THAT(test::error_of([&] { texts.ids_of("5 and 9"); }),
              HasSubstr("\"5 and 9\" is no list of token ids"));
}

TEST(TextOrIds, WithOneGoesThroughIt) {
  const TextOrIds texts(D9D_SOURCE_DIR "/examples/quickstart/tokenizer.json");

  const auto ids = texts.ids_of("And the king said");

  EXPECT_LT(ids.size(), 8U);
  EXPECT_EQ(texts.text_behind({}, ids), "And the king said");
}

}  // namespace
}  // namespace d9d
